// The conversations (threads) of Codex's own background server: the activity of each, and how its model is given a text, by a turn that begins once
// the conversation is idle. find-server.ts finds the server and tries it out; match.ts matches sessions with conversations.

import type { UserSession } from '../../broker/waking/user-session-runtime.ts'
import { CoalescedCheck } from '../../machine/coalesced-check.ts'
import { commandLineOf, startTimeOf } from '../processes.ts'
import type { ProgramListener, ProgramSource, SessionMatches, UserProgram } from '../user-program.ts'
import type { AppServer, CodexThread } from './app-server.ts'
import { type CodexCommand, findCodexServer, serverPidIn, socketIdentityIn } from './find-server.ts'
import { isPersonsThread, matchingCodexThread } from './match.ts'
import { CodexProgram, type UnconfirmedMail } from './program.ts'
import { CodexQuestions } from './questions.ts'

/** Delay before looking for the server when a session has appeared: a session that has ended by then, such as one of `codex exec`, needs no waking. */
const threadSettleMs = 300
/** Interval between two attempts to reach the server. */
const serverRetryMs = 30_000
/** Longest interval between two attempts. Each attempt may start the program `codex`, so attempts become rarer while no server is found. */
const serverRetryMsMax = 600_000
/** Interval between two checks whether the server's socket is there. */
const socketLookMs = 1_000
/** Number of quick attempts at a new socket, whose server may not answer yet. */
const newSocketTries = 5
/** Maximum number of conversations that are read when the server is found, and maximum number of known conversations. */
const [readMax, threadsMax] = [64, 500]

export interface CodexThreadsOptions {
  /**
   * Codex's home directory, `$CODEX_HOME` or `~/.codex`, where the server is found even while no session of ours needs it. Left out: the program
   * `codex` is asked instead.
   */
  home?: string
  command(): CodexCommand | undefined
}

export class CodexThreads implements ProgramSource {
  readonly cli = 'codex'
  readonly #options: CodexThreadsOptions
  readonly #listener: ProgramListener
  readonly #questions = new CodexQuestions()
  readonly #threads = new Map<string, CodexProgram>()
  /** The id of the conversation (thread) to which each session belongs, by the session's id. */
  #matched: ReadonlyMap<string, string> = new Map()
  /** Conversations that were read, or will be read, because a session's call names them. */
  readonly #requested = new Set<string>()
  #hasSessions = false
  #server: AppServer | undefined
  #unconfirmed: UnconfirmedMail[] = []
  #isWanted = false
  #looking: Promise<void> | undefined
  readonly #next = new CoalescedCheck(() => this.#look())
  readonly #ticking: NodeJS.Timeout
  /** Identifies the socket that was last seen in Codex's home directory. */
  #socket = ''
  #triesLeft = 0
  #notBefore = 0
  /** Why the server could not be used at the last attempt. */
  #trouble: string | undefined
  /** Interval before the next attempt to reach the server. */
  #retryMs = serverRetryMs
  #isClosed = false

  constructor(options: CodexThreadsOptions, listener: ProgramListener) {
    this.#options = options
    this.#listener = listener
    this.#ticking = setInterval(() => this.#lookAtSocket(), socketLookMs).unref()
    this.#lookAtSocket()
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#ticking)
    this.#next.end()
    this.#disconnect()
  }

  /** Lists the conversations of persons that the server has in memory: it drops a conversation a minute after its terminal was closed. */
  programs(): ReadonlyMap<string, UserProgram> {
    return new Map([...this.#threads].filter(([, { thread }]) => isPersonsThread(thread)))
  }

  matchSessions(all: readonly UserSession[]): SessionMatches {
    if (this.#hasSessions !== all.length > 0) {
      this.#hasSessions = all.length > 0
      this.#next.runWithin(this.#server ? 0 : threadSettleMs)
    }
    const notes = new Map<string, string>()
    for (const { id, host } of all) if (!mayBeHosted(host)) notes.set(id, 'it runs without its background server')
    const hosted = all.filter(({ id }) => !notes.has(id))
    const found = new Map<string, UserSession>()
    const undecided = new Set<string>()
    const sessions = this.#withEarlierMatches(hosted)
    const threads = [...this.#threads.values()].map(({ thread }) => thread).filter(isPersonsThread)
    for (const [i, session] of sessions.entries()) {
      const thread = this.#server && matchingCodexThread(session, sessions, threads)
      if (thread) found.set(thread.id, hosted[i] as UserSession)
      else if (!this.#server && this.#trouble !== undefined) notes.set(session.id, this.#trouble)
      else if (this.#server) notes.set(session.id, 'its conversation is not known yet')
      if (!thread) for (const { id, cwd } of threads) if (cwd === session.directory) undecided.add(id)
    }
    this.#matched = new Map([...found].map(([thread, { id }]) => [id, thread]))
    this.#requestUnknown(sessions.flatMap(({ calledThread }) => calledThread ?? []))
    return { sessions: found, undecided, notes }
  }

  /** Reads each conversation that a session's call names and that is not known yet, once. */
  #requestUnknown(ids: readonly string[]): void {
    const fresh = ids.filter((id) => !this.#threads.has(id) && !this.#requested.has(id))
    if (!this.#server || fresh.length === 0) return
    for (const id of fresh) this.#requested.add(id)
    this.#next.runWithin(0)
  }

  /** A session that was matched by its directory keeps its conversation when other sessions come to the directory, until a call names another one. */
  #withEarlierMatches(sessions: readonly UserSession[]): UserSession[] {
    const named = new Set(sessions.map(({ calledThread }) => calledThread))
    return sessions.map((session) => {
      const kept = this.#matched.get(session.id)
      return session.calledThread !== undefined || named.has(kept) ? session : { ...session, calledThread: kept }
    })
  }

  #lookAtSocket(): void {
    const { home } = this.#options
    const socket = home === undefined ? '' : socketIdentityIn(home)
    if (socket !== this.#socket) {
      this.#socket = socket
      this.#triesLeft = newSocketTries
      this.#notBefore = 0
      this.#look()
    } else if (this.#triesLeft > 0 && socket !== '' && !this.#server) this.#look()
  }

  #look(): void {
    this.#isWanted = true
    this.#looking ??= this.#work()
      // The server ended while it was being asked. If it comes back, the next attempt finds it.
      .catch(() => this.#next.runWithin(serverRetryMs))
      .finally(() => {
        this.#looking = undefined
        if (this.#isWanted && !this.#isClosed) this.#look()
      })
  }

  async #work(): Promise<void> {
    this.#isWanted = false
    if (!this.#hasSessions && this.#socket === '') return this.#disconnect()
    const server = this.#server ?? (await this.#connect())
    if (server) {
      await this.#settleUnconfirmed(server)
      await this.#readUnknown(server)
    }
    this.#listener.onChange()
  }

  async #connect(): Promise<AppServer | undefined> {
    const restMs = this.#notBefore - performance.now()
    if (restMs > 0 && this.#triesLeft === 0) return void this.#next.runWithin(restMs)
    this.#notBefore = performance.now() + serverRetryMs
    const { command, home } = this.#options
    let server: AppServer | undefined
    const found = await findCodexServer(this.#socket === '' ? undefined : home, command(), {
      ...this.#questions.listener,
      onThread: (thread) => this.#onThread(thread),
      onStatus: (id, status) => this.#onStatus(id, status),
      // The connection may close before `server` is set.
      onClose: () => void (server && this.#server === server && this.#onClose()),
    })
    if ('trouble' in found) {
      this.#trouble = found.text
      const isLasting = found.trouble !== 'not-running' && found.trouble !== 'silent'
      this.#triesLeft = isLasting ? 0 : Math.max(0, this.#triesLeft - 1)
      // A busy machine may have answered too late, so another attempt follows.
      if (!isLasting) this.#next.runWithin(this.#retryMs)
      this.#retryMs = Math.min(serverRetryMsMax, 2 * this.#retryMs)
      return undefined
    }
    server = found.server
    if (this.#isClosed) return void server.close()
    this.#triesLeft = 0
    this.#retryMs = serverRetryMs
    this.#server = server
    return server
  }

  #onClose(): void {
    this.#trouble = 'its background server has ended'
    this.#disconnect()
    this.#next.runWithin(threadSettleMs)
  }

  #disconnect(): void {
    const server = this.#server
    this.#server = undefined
    this.#threads.clear()
    this.#requested.clear()
    this.#questions.clear()
    this.#matched = new Map()
    server?.close()
    if (!this.#isClosed) this.#listener.onChange()
  }

  #onThread(thread: CodexThread): void {
    const known = this.#threads.get(thread.id)
    if (known) known.thread = thread
    else this.#begin(thread)
    // Sessions are matched again: the new conversation may be the only one that fits a session's directory, or may end that.
    if (isPersonsThread(thread)) this.#listener.onChange()
  }

  #begin(thread: CodexThread): void {
    if (this.#threads.size >= threadsMax) return
    const { home } = this.#options
    const program = new CodexProgram(thread, {
      server: () => this.#server,
      questions: this.#questions,
      host: home === undefined ? undefined : serverPidIn(home, startTimeOf),
      listener: this.#listener,
      onUnconfirmed: (lost) => this.#unconfirmed.push(lost),
      onGone: () => {
        this.#forget(thread.id)
        this.#listener.onChange()
      },
    })
    this.#threads.set(thread.id, program)
  }

  #forget(id: string): void {
    this.#threads.delete(id)
    this.#requested.delete(id)
  }

  #onStatus(id: string, status: CodexThread['status']): void {
    const program = this.#threads.get(id)
    if (program) program.onStatus(status)
    if (status.type === 'notLoaded') this.#forget(id)
    // The conversation is not known: a person has resumed an earlier one, so it is read.
    if (!program && status.type !== 'notLoaded') this.#next.runWithin(0)
    if (!program || !isPersonsThread(program.thread)) return
    // Looks for a compaction of the model's memory first, because the agent's brief after a compaction goes out with the waiting mail.
    void program.lookForCompaction().then(() => this.#listener.onChange())
  }

  /**
   * Finds out which of the texts the server has taken whose answers were lost with the connection. If the server cannot tell, the hold on the mail
   * ends by itself.
   */
  async #settleUnconfirmed(server: AppServer): Promise<void> {
    for (const { thread, id, held } of this.#unconfirmed.splice(0)) {
      const isTaken = await server.hasTakenText(thread, id).catch(() => undefined)
      if (isTaken) await held.markOffered('app-server')
      else if (isTaken === false) held.release()
    }
  }

  /** Reads those conversations that a session names, or that the server has in memory, and that are not known yet. */
  async #readUnknown(server: AppServer): Promise<void> {
    for (const id of new Set([...this.#requested, ...(await server.loadedThreads()).slice(-readMax)])) {
      if (this.#threads.has(id)) continue
      const thread = await server.readThread(id).catch(() => undefined)
      const isHere = thread && thread.status.type !== 'notLoaded' && !this.#threads.has(id)
      if (isHere) this.#begin(thread)
    }
  }
}

/**
 * Whether the background server may have started the session's MCP server; true if that cannot be found out. The background server does not know
 * other sessions, such as those of `codex exec`.
 */
function mayBeHosted(host: number | undefined): boolean {
  const words = host === undefined ? [] : commandLineOf(host).filter((word) => word !== '')
  return words.length === 0 || words.includes('app-server')
}
