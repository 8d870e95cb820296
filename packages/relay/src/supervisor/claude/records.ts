// Lists our agents in Claude Code's own list of agents, so that its sessions can write to them by name. Each record names a living process: the
// agent's own, or this daemon if the agent has none. Nothing is written before the person has agreed. Only our own records are changed or removed: a
// field that no other program writes identifies them.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { lstatSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import { tryOrUndefined } from '../../machine/try-or-undefined.ts'
import { startTimeOf } from '../processes.ts'
import { type ClaudeSession, ownRecordMark } from './registry.ts'

export interface AgentRecord {
  /** Process number under which the agent is listed. */
  pid: number
  name: string
  directory: string
  isBusy: boolean
  /** The socket for messages to the agent. */
  socketPath: string
}

interface WrittenRecord {
  text: string
  keyFile: string
}

export class ClaudeRecords {
  readonly #folder: string
  readonly #written = new Map<number, WrittenRecord>()

  constructor(home: string) {
    this.#folder = join(home, 'sessions')
    this.#removeDead()
  }

  /**
   * Replaces the list by these agents. `like`: a running session, whose version and container the records copy; without one, all our records are
   * removed.
   */
  replaceAll(all: readonly AgentRecord[], like: ClaudeSession | undefined): void {
    const wanted = new Map(like ? all.map((each) => [each.pid, each]) : [])
    for (const pid of [...this.#written.keys()]) if (!wanted.has(pid)) this.#remove(pid)
    for (const each of wanted.values()) this.#write(each, like as ClaudeSession)
  }

  close(): void {
    for (const pid of [...this.#written.keys()]) this.#remove(pid)
  }

  #write({ pid, name, directory: cwd, isBusy, socketPath }: AgentRecord, { version, pidDomain }: ClaudeSession): void {
    const procStart = startTimeOf(pid)
    if (procStart === undefined || !isOwnProcess(pid)) return this.#remove(pid)
    const status = isBusy ? 'busy' : 'idle'
    const own = {
      pid,
      cwd,
      procStart,
      version,
      pidDomain,
      name,
      status,
      messagingSocketPath: socketPath,
      ...ownRecordMark(),
    }
    const text = JSON.stringify(own)
    const known = this.#written.get(pid)
    if (known?.text === text) return
    const file = `${pid}.json`
    // A record that another program wrote for this process is kept, even if it has replaced ours.
    if (known ? !this.#isOurs(file) : this.#exists(file)) return
    const keyFile = known?.keyFile ?? `${pid}.${createHash('sha256').update(socketPath).digest('hex')}.key`
    this.#written.set(pid, { text, keyFile })
    if (!known) this.#writeFile(keyFile, { peerToken: randomBytes(16).toString('hex'), procStart, pidDomain })
    const now = Date.now()
    const times = { startedAt: now, nameSince: now, updatedAt: now, statusUpdatedAt: now }
    const kind = { peerProtocol: 1, peerFeatures: [], kind: 'interactive', entrypoint: 'cli', nameSource: 'user' }
    this.#writeFile(file, { ...own, sessionId: randomUUID(), ...times, ...kind })
  }

  /** Writes a file in one step, since sessions read it at any time. */
  #writeFile(file: string, content: object): void {
    const path = join(this.#folder, file)
    const draft = `${path}.${process.pid}`
    rmSync(draft, { force: true })
    try {
      writeFileSync(draft, JSON.stringify(content), { mode: 0o600, flag: 'wx' })
      renameSync(draft, path)
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    }
  }

  #remove(pid: number): void {
    const written = this.#written.get(pid)
    this.#written.delete(pid)
    if (!written) return
    const file = `${pid}.json`
    if (this.#isOurs(file)) rmSync(join(this.#folder, file), { force: true })
    // The key file is ours if no other record is in place of ours: its name is a hash of our socket's path, and no other process uses that socket.
    if (!this.#exists(file)) rmSync(join(this.#folder, written.keyFile), { force: true })
  }

  #exists(file: string): boolean {
    return lstatSync(join(this.#folder, file), { throwIfNoEntry: false }) !== undefined
  }

  #isOurs(file: string): boolean {
    const { daemon, start } = this.#readRecordMark(file)?.agentRelay ?? {}
    const { agentRelay } = ownRecordMark()
    return daemon === agentRelay.daemon && start === agentRelay.start
  }

  /** Removes the records that a killed daemon left: Claude Code lists each for as long as the process that it names lives. */
  #removeDead(): void {
    for (const file of this.#files().filter((name) => name.endsWith('.json'))) {
      const { agentRelay } = this.#readRecordMark(file) ?? {}
      if (!agentRelay || startTimeOf(agentRelay.daemon) === agentRelay.start) continue
      const pid = file.slice(0, -'.json'.length)
      for (const each of this.#files().filter(
        (name) => name === file || (name.startsWith(`${pid}.`) && name.endsWith('.key')),
      ))
        rmSync(join(this.#folder, each), { force: true })
    }
  }

  #files(): string[] {
    return tryOrUndefined(() => readdirSync(this.#folder)) ?? []
  }

  #readRecordMark(file: string): Partial<ReturnType<typeof ownRecordMark>> | undefined {
    return tryOrUndefined(() => JSON.parse(readForeignText(join(this.#folder, file)) ?? 'null') ?? undefined)
  }
}

/**
 * Whether the process belongs to this user. A session states its process number itself, which proves nothing, and another user's process is never
 * listed.
 */
function isOwnProcess(pid: number): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.getuid?.()
}
