// Codex sessions that people started: each is matched to a conversation (a thread) of Codex's own background server, and woken there when mail
// comes, by a turn of its own as soon as it is idle. What the server says of it is its state in lists of agents. Where it cannot be woken so, they say
// why, and the agent finds its mail at its next call.

import { randomUUID } from 'node:crypto'
import { cliOf } from '@agent-relay/sdk/internal/clis'
import { injectionText } from '@agent-relay/sdk/internal/injection'
import type { Agent } from '@agent-relay/sdk/protocol'
import type { HeldMail, OwnSession, WakeLedger } from '../../broker/wake-runtime.ts'
import type { AppServer, CodexThread } from '../doors/app-server.ts'
import { argumentsOf } from '../processes.ts'
import { openCodexDaemon } from './codex-daemon.ts'
import { codexThreadOf, isMain } from './codex-match.ts'

/** A session that is gone by then, such as one of `codex exec`, needs no waking: nothing is started for it. */
const threadSettleMs = 300
/** Between two attempts to reach the server, and after a turn that it refused. */
const againMs = 30_000
/** Each attempt to find it starts a program: while it is not found they become rarer, down to this. */
const seldomMs = 600_000
/** Conversations that are looked at to find the one of a session that has made no call yet. */
const readMax = 64

/** What a conversation waits for, by the server's flag. */
const waitings = { waitingOnApproval: 'approval', waitingOnUserInput: 'an answer' }

/** A session and its conversation. */
interface Match {
  session: OwnSession
  thread: CodexThread
  isGiving: boolean
  isWanted: boolean
  /** No turn is begun before this time: the last one was refused. */
  notBefore: number
  /** Why: it is not reached until a turn is taken again. */
  refusal?: string
  wakes?: () => void
}

/** Mail of which nobody knows whether the server has taken it: the connection ended first. */
interface Lost {
  thread: string
  id: string
  held: HeldMail
}

export interface CodexThreadsOptions {
  waking: WakeLedger
  env: Readonly<Record<string, string | undefined>>
  onTrouble(error: Error): void
}

export class CodexThreads {
  readonly #options: CodexThreadsOptions
  readonly #stops: (() => void)[]
  #stopMail: (() => void) | undefined
  #server: AppServer | undefined
  readonly #threads = new Map<string, CodexThread>()
  /** By the session's id. */
  readonly #matches = new Map<string, Match>()
  #lost: Lost[] = []
  /** The last compaction that was seen, by thread. */
  readonly #compacted = new Map<string, string>()
  #isWanted = false
  #looking: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #notBefore = 0
  /** Why the server could not be used when it was last looked for. */
  #trouble: string | undefined
  /** Until it is looked for again. */
  #restMs = againMs
  #isClosed = false

  constructor(options: CodexThreadsOptions) {
    this.#options = options
    this.#stops = [options.waking.onSessions('codex', () => this.#later(this.#server ? 0 : threadSettleMs))]
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
    clearTimeout(this.#timer)
    this.#disconnect()
  }

  /** Looks again after this time at the latest. */
  #later(ms: number): void {
    const at = performance.now() + ms
    if (this.#isClosed || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#look()
    }, ms).unref()
  }

  #look(): void {
    this.#isWanted = true
    this.#looking ??= this.#work()
      // The server went in the middle of it: its sessions go too, or the next look finds it again.
      .catch(() => this.#later(againMs))
      .finally(() => {
        this.#looking = undefined
        if (this.#isWanted && !this.#isClosed) this.#look()
      })
  }

  async #work(): Promise<void> {
    this.#isWanted = false
    const { sessions, others } = await this.#hosted()
    for (const session of others) this.#options.waking.shows(session, { note: 'it runs without its background server' })
    if (sessions.length === 0) return this.#disconnect()
    const server = this.#server ?? (await this.#connect())
    if (!server) {
      for (const session of sessions) this.#options.waking.shows(session, { note: this.#trouble })
      return
    }
    await this.#settle(server)
    await this.#learn(server, sessions)
    this.#match(sessions)
    for (const match of this.#matches.values()) void this.#give(match)
  }

  /** Those whose MCP server was started by the background server. Of others, such as those of `codex exec`, it knows nothing. */
  async #hosted(): Promise<{ sessions: OwnSession[]; others: OwnSession[] }> {
    const sessions = this.#options.waking.sessionsOf('codex')
    const isHosted = async ({ host }: OwnSession) =>
      host === undefined || ((await argumentsOf(host))?.includes('app-server') ?? true)
    const hosted = await Promise.all(sessions.map(isHosted))
    return { sessions: sessions.filter((_, i) => hosted[i]), others: sessions.filter((_, i) => !hosted[i]) }
  }

  async #connect(): Promise<AppServer | undefined> {
    const restMs = this.#notBefore - performance.now()
    if (restMs > 0) return void this.#later(restMs)
    this.#notBefore = performance.now() + againMs
    let server: AppServer | undefined
    const found = await openCodexDaemon(this.#options.env, {
      onThread: (thread) => this.#onThread(thread),
      onStatus: (id, status) => this.#onStatus(id, status),
      // It may close before it is ours.
      onClose: () => void (server && this.#server === server && this.#onClose()),
    })
    if ('trouble' in found) {
      this.#trouble = found.text
      // A machine that is busy may have been too slow with its answer.
      if (found.trouble === 'not-running' || found.trouble === 'silent') this.#later(this.#restMs)
      this.#restMs = Math.min(seldomMs, 2 * this.#restMs)
      return undefined
    }
    server = found.server
    if (this.#isClosed) return void server.close()
    this.#restMs = againMs
    this.#server = server
    this.#stopMail = this.#options.waking.onMail((isFor) => {
      for (const match of this.#matches.values()) if (isFor(match.session.agent)) void this.#give(match)
    })
    return server
  }

  #onClose(): void {
    this.#trouble = 'its background server has ended'
    this.#disconnect()
    this.#later(threadSettleMs)
  }

  #disconnect(): void {
    const server = this.#server
    this.#server = undefined
    this.#stopMail?.()
    this.#stopMail = undefined
    for (const id of [...this.#matches.keys()]) this.#shut(id)
    this.#threads.clear()
    server?.close()
  }

  #onThread(thread: CodexThread): void {
    this.#threads.set(thread.id, thread)
    // One that a person began may be the only one that fits a session's directory now, or no longer the only one.
    if (isMain(thread)) this.#later(0)
  }

  #onStatus(id: string, status: CodexThread['status']): void {
    const thread = this.#threads.get(id)
    if (!thread) return
    thread.status = status
    if (status.type === 'notLoaded') {
      this.#threads.delete(id)
      this.#later(0)
    }
    for (const match of this.#matches.values()) {
      if (match.thread !== thread) continue
      this.#show(match)
      // The brief goes with the mail that waited, so what was cut is looked for first.
      if (mayBegin(thread)) void this.#lookForCut(match).then(() => this.#give(match))
    }
  }

  async #lookForCut({ session, thread: { id } }: Match): Promise<void> {
    const found = await this.#server?.lastCompaction(id).catch(() => undefined)
    if (found === undefined || this.#compacted.get(id) === found) return
    this.#compacted.set(id, found)
    this.#options.waking.wasCompacted(session)
  }

  /** What became of the turns whose answers were lost with the connection. Where the server cannot say, the hold ends by itself. */
  async #settle(server: AppServer): Promise<void> {
    for (const { thread, id, held } of this.#lost.splice(0)) {
      const isTaken = await server.hasTaken(thread, id).catch(() => undefined)
      if (isTaken) await held.offered('app-server')
      else if (isTaken === false) held.release()
    }
  }

  /** Reads what is not known yet: the conversations that calls named and, for sessions without a call, all that the server has in memory. */
  async #learn(server: AppServer, sessions: readonly OwnSession[]): Promise<void> {
    const named = sessions.flatMap(({ codexThread }) => codexThread ?? [])
    const loaded = named.length === sessions.length ? [] : (await server.loaded()).slice(-readMax)
    for (const id of new Set([...named, ...loaded])) {
      if (this.#threads.has(id)) continue
      const thread = await server.read(id).catch(() => undefined)
      if (thread && thread.status.type !== 'notLoaded' && !this.#threads.has(id)) this.#threads.set(id, thread)
    }
  }

  #match(hosted: readonly OwnSession[]): void {
    const threads = [...this.#threads.values()].filter(isMain)
    for (const id of this.#matches.keys()) if (!hosted.some((session) => session.id === id)) this.#shut(id)
    const sessions = this.#withKept(hosted)
    for (const session of sessions) {
      const thread = codexThreadOf(session, sessions, threads)
      const match = this.#matches.get(session.id)
      if (match && match.thread === thread && match.session.agent === session.agent) continue
      this.#shut(session.id)
      if (!thread) {
        this.#options.waking.shows(session, { note: 'its conversation is not known yet' })
        continue
      }
      const fresh = { session, thread, isGiving: false, isWanted: false, notBefore: 0 }
      this.#matches.set(session.id, fresh)
      this.#show(fresh)
    }
  }

  /** What lists of agents say of it. */
  #show(match: Match): void {
    const { session, thread, refusal } = match
    const { waking } = this.#options
    waking.shows(session, { doing: doingOf(thread), note: refusal })
    if (refusal === undefined) match.wakes ??= waking.wakes(session.agent)
    else match.wakes = void match.wakes?.()
  }

  /** A session that was matched by its directory stays so when others come to that directory, until a call says otherwise. */
  #withKept(sessions: readonly OwnSession[]): OwnSession[] {
    const named = new Set(sessions.map(({ codexThread }) => codexThread))
    return sessions.map((session) => {
      const kept = this.#matches.get(session.id)?.thread.id
      return session.codexThread !== undefined || named.has(kept) ? session : { ...session, codexThread: kept }
    })
  }

  #shut(id: string): void {
    this.#matches.get(id)?.wakes?.()
    this.#matches.delete(id)
  }

  /** Mail waits while the conversation has a turn under way, and so also while a question to the person is open. */
  async #give(match: Match): Promise<void> {
    match.isWanted = true
    if (match.isGiving) return
    match.isGiving = true
    // What comes while it gives is looked at afterwards; a turn that is under way looks again at its end.
    while (match.isWanted && this.#mayBegin(match)) {
      match.isWanted = false
      await this.#begin(match).catch(this.#options.onTrouble)
    }
    match.isGiving = false
  }

  #mayBegin(match: Match): boolean {
    const { session, thread, notBefore } = match
    return mayBegin(thread) && this.#matches.get(session.id) === match && performance.now() >= notBefore
  }

  async #begin(match: Match): Promise<void> {
    const { session, thread } = match
    const held = await this.#options.waking.hold(session)
    const server = this.#server
    if (!held) return
    if (!server || !this.#mayBegin(match)) return held.release()
    // From here on it counts as busy, so that nothing else begins a turn before this one has ended.
    thread.status = { type: 'active' }
    const { messages, opening } = held
    const text = injectionText(messages, { toolPrefix: cliOf('codex').toolPrefix, sendTool: session.sendTool, opening })
    const id = randomUUID()
    const outcome = await server.startTurn(thread.id, text, id)
    match.refusal = outcome === 'refused' ? 'Codex has refused the last message' : undefined
    if (outcome === 'taken') return held.offered('app-server').finally(() => this.#show(match))
    if (outcome === 'lost') return void this.#lost.push({ thread: thread.id, id, held })
    match.notBefore = performance.now() + againMs
    held.release()
    await this.#lookAt(server, thread)
    this.#show(match)
  }

  /** After a turn that was refused: what became of the conversation? */
  async #lookAt(server: AppServer, thread: CodexThread): Promise<void> {
    const now = await server.read(thread.id).catch(() => undefined)
    if (now) thread.status = now.status
    else this.#threads.delete(thread.id)
    this.#later(againMs)
  }
}

function doingOf({ status: { type, activeFlags = [] } }: CodexThread): Agent['doing'] {
  if (type === 'notLoaded') return undefined
  if (type !== 'active') return { state: 'idle' }
  const waitsFor = Object.entries(waitings).find(([flag]) => activeFlags.includes(flag))?.[1]
  return waitsFor === undefined ? { state: 'busy' } : { state: 'waiting', for: waitsFor }
}

/** Nothing is under way in it. After a turn that failed (the network, a limit of use) it takes the next one like any other. */
function mayBegin({ status }: CodexThread): boolean {
  return status.type === 'idle' || status.type === 'systemError'
}
