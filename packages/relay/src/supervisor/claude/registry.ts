// Reads the registry of Claude Code: one file for each running session, with the session's activity and the socket on which it takes messages.
// records.ts writes our own records into it. A file in an unexpected form is ignored, and the reason is kept for `doctor`.

import { createHash } from 'node:crypto'
import { type FSWatcher, lstatSync, readdirSync, readlinkSync, type Stats, statSync, watch } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { cleanLine } from '@agent-relay/sdk/internal/clean'
import { readForeignFile } from '@agent-relay/sdk/internal/discover'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { commandLineOf, startTimeOf } from '../processes.ts'

/** Maximum size of a record; a real one has about 500 bytes. */
const recordBytesMax = 64 * 1024
/** Maximum number of records that are read; no person has as many sessions at a time. */
const recordsMax = 500
/** Interval between two reads of the folder. They find changes without a file event: a killed process leaves its record behind. */
const recordsLookMs = 1_000
/** Delay between a file event and the read of the folder, so that one read serves several events. */
const recordsBatchMs = 50
const textCharsMax = 200
/** Why a record that a relay wrote (this daemon or another) is ignored: the record is not a session of Claude Code. */
export const relayRecordText = 'an agent of a relay'
const bypassMode = 'bypassPermissions'
const bypassFlags = ['--dangerously-skip-permissions', `--permission-mode=${bypassMode}`]
export const processEndedText = 'its process has ended'

const SessionRecord = z.object({
  pid: z.number().int().positive(),
  /** Start time of the process, field 22 of /proc/PID/stat, since process numbers are reused. */
  procStart: z.string().regex(/^\d{1,20}$/),
  pidDomain: z.string().max(textCharsMax),
  sessionId: z.string().regex(/^[\da-f-]{36}$/),
  cwd: z.string().max(limits.pathCharsMax).refine(isAbsolute),
  version: z.string().max(textCharsMax),
  kind: z.string().max(textCharsMax),
  entrypoint: z.string().max(textCharsMax),
  messagingSocketPath: z.string().max(textCharsMax).refine(isAbsolute),
  name: z.string().max(4_096),
  status: z.enum(['idle', 'busy', 'waiting']).optional(),
  waitingFor: z.string().max(4_096).optional(),
})
const SessionKey = z.object({ peerToken: z.string().max(textCharsMax), procStart: z.string().max(textCharsMax) })

/** A running session of Claude Code. */
export interface ClaudeSession {
  pid: number
  procStart: string
  sessionId: string
  directory: string
  version: string
  pidDomain: string
  /** Whether a person uses the session, in contrast to a single prompt from a script. */
  isAttended: boolean
  /** Whether the session was started without permission prompts. Such a session asks its person about each message from others. */
  skipsPermissions: boolean
  name: string
  /** The session's activity; undefined until the session has reported it. */
  doing?: { state: 'idle' | 'busy' | 'waiting'; for?: string }
  socketPath: string
  token: string
}

type RecordFile = { stats: Stats; session: ClaudeSession } | { stats: Stats; why: string }

export interface ClaudeRegistryOptions {
  /** Claude Code's configuration directory: `$CLAUDE_CONFIG_DIR`, or `~/.claude`. */
  home: string
  /** Called when a session may have started, ended or changed its activity. */
  onChange(): void
}

export class ClaudeRegistry {
  readonly #options: ClaudeRegistryOptions
  readonly #folder: string
  #files = new Map<string, RecordFile>()
  #living: ReadonlyMap<number, ClaudeSession> = new Map()
  #watcher: FSWatcher | undefined
  #isFolderPrivate = false
  readonly #timer: NodeJS.Timeout
  #nextLook: NodeJS.Timeout | undefined

  constructor(options: ClaudeRegistryOptions) {
    this.#options = options
    this.#folder = join(options.home, 'sessions')
    this.#timer = setInterval(() => this.look(), recordsLookMs).unref()
    this.#nextLook = setTimeout(() => this.look(), 0).unref()
  }

  /** Reads the registry once, without watching it. */
  static readOnce(home: string): {
    sessions: ReadonlyMap<number, ClaudeSession>
    leftAlone: { file: string; why: string }[]
  } {
    const registry = new ClaudeRegistry({ home, onChange: () => {} })
    registry.look()
    registry.close()
    return { sessions: registry.sessions, leftAlone: registry.leftAlone() }
  }

  /** Running sessions by process number. */
  get sessions(): ReadonlyMap<number, ClaudeSession> {
    return this.#living
  }

  /** The files that were ignored, each with the reason. */
  leftAlone(): { file: string; why: string }[] {
    return [...this.#files].flatMap(([file, read]) =>
      'why' in read ? [{ file: join(this.#folder, file), why: read.why }] : [],
    )
  }

  close(): void {
    clearInterval(this.#timer)
    clearTimeout(this.#nextLook)
    this.#watcher?.close()
  }

  #lookSoon(): void {
    this.#nextLook ??= setTimeout(() => this.look(), recordsBatchMs).unref()
  }

  /** Reads the registry at once, before an action that depends on a session's present activity. */
  look(): void {
    clearTimeout(this.#nextLook)
    this.#nextLook = undefined
    const before = this.#living
    this.#files = this.#readAll()
    const found = [...this.#files.values()].flatMap((read) => ('session' in read ? [read.session] : []))
    // Checks each session's process at every read, since a killed process could not remove its record.
    this.#living = new Map(found.filter(isRunning).map((session) => [session.pid, session]))
    const isSame =
      this.#living.size === before.size && [...this.#living].every(([pid, each]) => before.get(pid) === each)
    if (!isSame) this.#options.onChange()
  }

  #readAll(): Map<string, RecordFile> {
    const read = new Map<string, RecordFile>()
    if (!this.#watch()) return read
    const files = readdirSync(this.#folder).filter((name) => /^[1-9]\d*\.json$/.test(name))
    for (const file of files.slice(0, recordsMax)) {
      const stats = lstatSync(join(this.#folder, file), { throwIfNoEntry: false })
      if (!stats) continue
      const known = this.#files.get(file)
      if (known && isSameFile(known.stats, stats)) read.set(file, known)
      else read.set(file, { stats, ...this.#readSession(file, stats, known) })
    }
    return read
  }

  /** Watches the folder. Returns false if there is no registry, or if other users may write to it. */
  #watch(): boolean {
    try {
      const stats = statSync(this.#folder)
      if (!stats.isDirectory() || !isWritableByUserOnly(stats)) return this.#unwatch()
      this.#isFolderPrivate = isReachableByUserOnly(stats)
      this.#watcher ??= watch(this.#folder, { persistent: false }, () => this.#lookSoon()).on('error', () =>
        this.#unwatch(),
      )
      return true
    } catch {
      return this.#unwatch()
    }
  }

  #unwatch(): false {
    this.#watcher?.close()
    this.#watcher = undefined
    return false
  }

  #readSession(
    file: string,
    stats: Stats,
    known: RecordFile | undefined,
  ): { session: ClaudeSession } | { why: string } {
    try {
      if (!(this.#isFolderPrivate ? isOwnedByUser(stats) : isWritableByUserOnly(stats)))
        return { why: 'others may write to it' }
      const text = readForeignFile(join(this.#folder, file), { bytesMax: recordBytesMax })?.bytes.toString('utf8') ?? ''
      const value = parseJson(text) as { peerProtocol?: unknown; agentRelay?: unknown } | null
      if (value?.agentRelay !== undefined) return { why: relayRecordText }
      if (value?.peerProtocol !== 1)
        return {
          why: `it speaks another version of the protocol: ${cleanLine(String(value?.peerProtocol)).slice(0, 20)}`,
        }
      const record = SessionRecord.safeParse(value)
      if (!record.success) return { why: `its field ${record.error.issues[0]?.path.join('.')} is not as expected` }
      if (`${record.data.pid}.json` !== file) return { why: 'it names another process' }
      return this.#checkRecord(record.data)
    } catch (error) {
      // The file is being written at this moment, so its former content counts until the next read.
      if (error instanceof SyntaxError && known && 'session' in known) return { session: known.session }
      return { why: (error as Error).message }
    }
  }

  #checkRecord(record: z.infer<typeof SessionRecord>): { session: ClaudeSession } | { why: string } {
    const { pid, procStart, messagingSocketPath: socketPath } = record
    if (!record.pidDomain.endsWith(`:${pidNamespace()}`)) return { why: 'it runs in another container' }
    if (startTimeOf(pid) !== procStart) return { why: processEndedText }
    if (!isWritableByUserOnly(statSync(`/proc/${pid}`))) return { why: 'its process is another user’s' }
    const socket = lstatSync(socketPath, { throwIfNoEntry: false })
    const folder = lstatSync(dirname(socketPath))
    if (
      !socket?.isSocket() ||
      !isOwnedByUser(folder) ||
      !(isReachableByUserOnly(folder)
        ? isOwnedByUser(socket)
        : isWritableByUserOnly(socket) && isWritableByUserOnly(folder))
    )
      return { why: `${cleanLine(socketPath)} is not a socket of this user alone` }
    const keyPath = join(this.#folder, `${pid}.${createHash('sha256').update(socketPath).digest('hex')}.key`)
    const key = readForeignFile(keyPath, { bytesMax: recordBytesMax })
    if (!key || !(this.#isFolderPrivate ? isOwnedByUser(key.stats) : isWritableByUserOnly(key.stats)))
      return { why: 'it has no key' }
    const { peerToken, procStart: ofKey } = SessionKey.parse(parseJson(key.bytes.toString('utf8')))
    if (ofKey !== procStart) return { why: 'its key belongs to an earlier process' }
    return { session: sessionOf(record, peerToken) }
  }
}

function sessionOf(record: z.infer<typeof SessionRecord>, token: string): ClaudeSession {
  const { pid, procStart, pidDomain, sessionId, cwd: directory, version, name, status: state, waitingFor } = record
  const short = (text: string) => cleanLine(text).slice(0, textCharsMax)
  return {
    ...{ pid, procStart, pidDomain, sessionId, directory, version, token },
    isAttended: record.kind === 'interactive' && !record.entrypoint.startsWith('sdk'),
    skipsPermissions: isStartedWithoutPermissions(pid),
    name: short(name),
    ...(state && { doing: { state, ...(state === 'waiting' && waitingFor ? { for: short(waitingFor) } : {}) } }),
    socketPath: record.messagingSocketPath,
  }
}

/** Returns the field that identifies our records. It names this daemon's process, so that another daemon can check whether this daemon still runs. */
export function ownRecordMark(): { agentRelay: { daemon: number; start: string } } {
  return { agentRelay: { daemon: process.pid, start: startTimeOf(process.pid) ?? '' } }
}

/** Whether the command line of the session's process turns permission prompts off. Before the session's first turn, nothing else shows that. */
function isStartedWithoutPermissions(pid: number): boolean {
  const words = commandLineOf(pid)
  const mode = words[words.indexOf('--permission-mode') + 1]
  return (
    words.some((word) => bypassFlags.includes(word)) || (words.includes('--permission-mode') && mode === bypassMode)
  )
}

const isRunning = ({ pid, procStart }: ClaudeSession): boolean => startTimeOf(pid) === procStart

function isSameFile(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.size === b.size && a.ctimeMs === b.ctimeMs
}

const isOwnedByUser = ({ uid }: Stats): boolean => uid === process.getuid?.()

/** Whether the file is this user's, and nobody else may write to it. */
export function isWritableByUserOnly(stats: Stats): boolean {
  return isOwnedByUser(stats) && (stats.mode & 0o022) === 0
}

/** Whether only this user can reach the folder's files, whatever their modes: on many systems, the umask lets a group write to every new file. */
const isReachableByUserOnly = (stats: Stats): boolean => isOwnedByUser(stats) && (stats.mode & 0o077) === 0

/** Returns the process namespace, such as `pid:[4026531836]`: two containers may share a home directory and use the same process numbers. */
function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid')
}
