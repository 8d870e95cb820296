// Wakes idle sessions by their waiters: a hook, or opencode's plugin, leaves a small shell beside the session (mcp/src/launcher/hook-guard.ts), which reads
// from a fifo in the data directory. This file writes to the fifo that a message has come; the hook then takes the message like any other. A waiter needs no
// connection, so it outlives the daemon, and a lost line is written again at the next look. Also tells hooks which sessions have no messages, so that these
// need not start Node.

import { setMaxListeners } from 'node:events'
import { closeSync, constants, fstatSync, openSync, readdirSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type Fact, limits } from '@agent-relay/sdk/protocol'
import { directMembers } from '../../core/conversations.ts'
import { pickMessages } from '../../core/inbox.ts'
import type { Alarm } from '../../machine/clock.ts'
import type { HooksFolder } from '../../machine/hooks-folder.ts'
import type { WorkspaceParts } from '../call.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import { hostedSessions } from '../sessions/session.ts'

/** Time within which several hints of new messages lead to one look at the inboxes. */
const soonMs = 10
/** Precision of file times: some file systems date a folder's change in whole seconds, and a second change within the same second would go unseen. */
const grainMs = 2_000

/** Matches the name of a waiter's fifo: the process id of the program that waits, and the waiter's own. */
const fifoName = /^(\d+)\.\d+$/

export class HookWaiters {
  readonly #parts: Pick<WorkspaceParts, 'store' | 'sessions' | 'clock' | 'reads' | 'name'>
  readonly #hooks: HooksFolder | undefined
  /** The agents of each known program, by the program's process id. */
  readonly #agentsAt = new Map<number, Set<string>>()
  readonly #hostsOf = new Map<string, number[]>()
  #soonAlarm: Alarm | undefined
  #laterAlarm: Alarm | undefined
  /**
   * Reasons to look at inboxes. `#addressed`: agents that may have a message now. `#changed`: agents whose sessions have changed. `#spoken`: channels, or the
   * broadcast, with a new message.
   */
  readonly #addressed = new Set<string>()
  readonly #changed = new Set<string>()
  readonly #spoken = new Set<string>()
  /** The agents for which hooks were told that no messages wait. */
  readonly #quiet = new Set<string>()
  /** The agents whose inboxes are being searched, each with whether another search was asked for meanwhile. */
  readonly #looking = new Map<string, boolean>()
  readonly #closed = new AbortController()
  #listed: { changedMs: number; names: Map<number, string[]> } | undefined

  constructor(parts: WorkspaceParts, hooks?: HooksFolder) {
    this.#parts = parts
    this.#hooks = hooks
    setMaxListeners(0, this.#closed.signal)
    parts.hub.listen((entries) => {
      for (const { facts } of entries) for (const fact of facts) this.#onFact(fact)
    })
    parts.sessions.onChange((agent) => this.#onSession(agent))
  }

  /** Whether a waiter, the shell that wakes a session, runs beside one of the agent's sessions or has just woken it. */
  hasWaiterFor(agent: string): boolean {
    return (this.#hostsOf.get(agent) ?? []).some((host) => this.#waiterFiles().has(host))
  }

  close(): void {
    this.#soonAlarm?.cancel()
    this.#laterAlarm?.cancel()
    this.#closed.abort()
    for (const [agent, hosts] of this.#hostsOf) this.#recordQuiet(agent, undefined, hosts)
  }

  #onFact(fact: Fact): void {
    if (fact.type === 'delivery.released' || fact.type === 'approval.closed') this.#lookSoon(fact.agent)
    else if (fact.type === 'message.created' && this.#hostsOf.size > 0) {
      const direct = directMembers(fact.conversation)
      for (const agent of direct) this.#lookSoon(agent)
      if (direct.length > 0) return
      this.#spoken.add(fact.conversation)
      this.#wakeSoon()
    }
  }

  #onSession(agent: string): void {
    const hosts = hostedSessions([...this.#parts.sessions.ofAgent(agent)]).map(({ host }) => host)
    const before = this.#hostsOf.get(agent) ?? []
    for (const host of before) {
      const agents = this.#agentsAt.get(host)
      if (agents?.delete(agent) && agents.size === 0) this.#agentsAt.delete(host)
    }
    if (String(hosts) !== String(before)) this.#recordQuiet(agent, undefined, before)
    if (hosts.length === 0) return void this.#hostsOf.delete(agent)
    this.#hostsOf.set(agent, hosts)
    for (const host of hosts) this.#agentsAt.set(host, (this.#agentsAt.get(host) ?? new Set()).add(agent))
    // The session that ended may have held messages, which can be taken again now.
    this.#recordQuiet(agent, false)
    this.#changed.add(agent)
    this.#wakeSoon()
  }

  #lookSoon(agent: string): void {
    if (!this.#hostsOf.has(agent)) return
    // Tells hooks at once that messages may wait, since the agent's turn may end at this moment.
    if (this.#quiet.has(agent)) this.#recordQuiet(agent, false)
    this.#addressed.add(agent)
    this.#wakeSoon()
  }

  #wakeSoon(): void {
    this.#soonAlarm ??= this.#parts.clock.after(soonMs, () => {
      this.#soonAlarm = undefined
      this.#searchInboxes()
    })
  }

  /** Searches the inboxes of agents that may have messages; `all`: of every agent, because an earlier line to a waiter may have been lost. */
  #searchInboxes(all = false): void {
    const { clock, store } = this.#parts
    const [addressed, changed, spoken] = [this.#addressed, this.#changed, this.#spoken].map((set) => [...set])
    for (const set of [this.#addressed, this.#changed, this.#spoken]) set.clear()
    if (this.#hostsOf.size === 0 || !this.#hooks) return
    this.#laterAlarm ??= clock.after(limits.lookAgainMs, () => {
      this.#laterAlarm = undefined
      this.#searchInboxes(true)
    })
    const { path } = this.#hooks
    const isSpokenTo = (agent: string) => spoken?.some((name) => store.view.isMember(agent, name)) ?? false
    // Tells hooks that messages may wait before the waiters are listed: a new waiter is either in the list, or is told so.
    for (const agent of [...this.#quiet].filter(isSpokenTo)) this.#recordQuiet(agent, false)
    const names = this.#waiterFiles()
    const waiting = [...names.keys()].flatMap((host) => [...(this.#agentsAt.get(host) ?? [])])
    const isWaiting = (agent: string) => waiting.includes(agent) || this.#looking.has(agent)
    const meant = [
      ...(addressed ?? []).filter(isWaiting),
      ...(changed ?? []).filter((agent) => this.#hostsOf.has(agent)),
      ...(all ? this.#hostsOf.keys() : [...waiting, ...this.#looking.keys()].filter(isSpokenTo)),
    ]
    for (const agent of new Set(meant)) {
      const fifos = (this.#hostsOf.get(agent) ?? []).flatMap((host) => names.get(host) ?? [])
      const paths = fifos.filter((name) => fifoName.test(name)).map((name) => join(path, name))
      void this.#searchInbox(agent, paths)
    }
  }

  async #searchInbox(agent: string, fifos: readonly string[]): Promise<void> {
    const isLooking = this.#looking.has(agent)
    this.#looking.set(agent, isLooking)
    if (isLooking) return
    try {
      const hasMail = await this.#hasMail(agent)
      if (hasMail) for (const fifo of fifos) writeWakeLine(fifo)
      const isOld = this.#looking.get(agent) || this.#addressed.has(agent) || this.#spoken.size > 0
      if (!isOld) this.#recordQuiet(agent, !hasMail)
    } catch {
      // The search failed: either the workspace is closed, or the next search finds the messages.
    }
    const isWanted = this.#looking.get(agent) && !this.#closed.signal.aborted
    this.#looking.delete(agent)
    if (isWanted) void this.#searchInbox(agent, fifos)
  }

  /** Tells the hooks of these programs whether the agent has no messages. Undefined: the agent has left the programs. */
  #recordQuiet(agent: string, isQuiet: boolean | undefined, hosts = this.#hostsOf.get(agent) ?? []): void {
    if (isQuiet && hosts.length > 0) this.#quiet.add(agent)
    else this.#quiet.delete(agent)
    for (const host of hosts) this.#hooks?.recordQuiet(host, `${this.#parts.name} ${agent}`, isQuiet)
  }

  /**
   * Whether a hook would be handed messages of the agent. There may be many messages that were shown but not read, so the search takes turns with all other
   * reads.
   */
  async #hasMail(by: string): Promise<boolean> {
    const { store, sessions, clock, reads } = this.#parts
    const asked = { input: { route: 'hook', limit: 1, uncounted: true }, by, at: clock.now(), world: sessions } as const
    return (
      (await reads.run(pickMessages(store.view, asked), new ReadTimeBudget(), this.#closed.signal)).waiting.length > 0
    )
  }

  /** Lists the waiters' fifos by the process id of the program that each waits for. Empty if no hook is installed, or the folder cannot be read. */
  #waiterFiles(): Map<number, string[]> {
    const names = new Map<number, string[]>()
    if (this.#hooks === undefined) return names
    const folder = this.#hooks.path
    try {
      const changedMs = statSync(folder).mtimeMs
      if (this.#listed?.changedMs === changedMs) return this.#listed.names
      for (const name of readdirSync(folder)) {
        const host = Number.parseInt(name, 10)
        if (host > 0) names.set(host, [...(names.get(host) ?? []), name])
      }
      this.#listed = Date.now() - changedMs > grainMs ? { changedMs, names } : undefined
    } catch {
      this.#listed = undefined
    }
    return names
  }
}

/** Writes a line to a fifo. Never blocks and follows no link; a fifo without a reader is skipped. */
function writeWakeLine(path: string): void {
  let fifo: number | undefined
  try {
    fifo = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    if (fstatSync(fifo).isFIFO()) writeSync(fifo, 'mail\n')
  } catch {
  } finally {
    if (fifo !== undefined) closeSync(fifo)
  }
}
