// Presence: about once a second, this daemon tells the other machines which agents are connected here, and learns what has changed there. What it knows may
// be some seconds old, and the database loses it in a crash. Agents of a machine that was silent for a while count as not connected.

import { reaches } from '@agent-relay/sdk/protocol'
import type { OtherMachines, RemoteAgent, ReportedAgent, ReportedWait } from '../broker/sharing.ts'
import type { Alarm, Clock } from '../machine/clock.ts'
import { resultWithin } from '../machine/within.ts'
import { type MachinePresence, type OwnPresence, reportPresence } from './postgres/calls.ts'
import { LoginRefused } from './postgres/connection.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'
import { pruneKeys } from './postgres/pruning.ts'

/** Interval between presence broadcasts, in which this machine tells the others who is connected here. */
const beatMs = 1_000
/** Interval between presence broadcasts after one has failed, since the database may be unreachable for long. */
const failedMs = 5_000
/** Delay before a change is broadcast, so that agents that connect at the same time share one broadcast. */
const soonMs = 20
/** A machine that was silent for longer than this counts as unreachable. */
export const silentMsMax = 15_000
/**
 * After this many broadcasts, the presence of this machine is sent in full, since the database may have lost it; and that of all machines is asked for,
 * since the database's clock may have jumped.
 */
const [wholeBeats, hearBeats] = [10, 60]
/** If the last broadcast is longer ago than this, the presence of all machines is asked for, since the database does not repeat news from that time. */
const pauseMs = 5_000
/** Number of broadcasts, about ten minutes, between two prunings of old conflict keys. */
const pruneBeats = 600

/** Sent in place of a list of agents when the workspace is closed on this machine. Older daemons read it as an empty list. */
const closed = JSON.stringify('closed')
/** How long a stopping daemon waits for its last broadcast. */
const lastWordMs = 1_000

/** Maximum number of waits (of an agent on another machine, for answers to messages) that this machine takes from a broadcast. */
const waitsMax = 32

interface WorkspacePresence {
  /** Returns the agents that are connected on this machine. Unset until this machine may broadcast them. */
  agents?(): ReportedAgent[]
  /** The agents of this machine as they were last broadcast, as JSON. */
  reported: string
  /** Other machines by name. */
  others: Map<string, OtherMachine>
  listeners: ((gone: readonly string[]) => void)[]
}

interface OtherMachine {
  agents: Map<string, RemoteAgent>
  /** The time, by the steady clock, of the last sign of life from the machine's daemon. */
  seenAt: number
  /** Whether the machine's daemon has closed the workspace, so that no agent is connected there. */
  isClosed: boolean
  /**
   * Whether the database has the machine's presence. After a crash of the database it is lost, and the database does not report machines that have stopped
   * broadcasting.
   */
  isKnown: boolean
}

export interface PresenceListener {
  /** Called after every successful broadcast, because another machine may have asked a question. */
  onBeat(): void
  /** Called when the cluster no longer lets this machine in. There are no broadcasts after that. */
  onRemoved(): void
}

export class Presence {
  readonly #cluster: PostgresCluster
  readonly #clock: Clock
  readonly #entered = new Map<string, WorkspacePresence>()
  /** Workspaces that were closed on this machine, until a broadcast has told the others. */
  readonly #closedWorkspaces = new Set<string>()
  readonly #calls: { stop(): void }
  #alarm: Alarm | undefined
  #alarmAt = Number.POSITIVE_INFINITY
  #isReporting = false
  #isAgain = false
  #beats = 0
  #stamp = 0
  #heardAt = Number.NEGATIVE_INFINITY
  #isStopped = false
  /** Machines that no longer belong to the cluster. */
  readonly #removed = new Set<string>()
  readonly #listener: PresenceListener

  constructor(cluster: PostgresCluster, clock: Clock, listener: PresenceListener) {
    this.#cluster = cluster
    this.#clock = clock
    this.#listener = listener
    this.#calls = cluster.onHint(() => this.reportSoon())
  }

  /** Begins to track who is connected in a workspace on the other machines. After `tell`, also broadcasts who is connected on this one. */
  enter(
    workspace: string,
  ): Omit<OtherMachines, 'ask'> & { report(agents: () => ReportedAgent[]): void; leave(): void } {
    const entered: WorkspacePresence = { reported: '', others: new Map(), listeners: [] }
    this.#entered.set(workspace, entered)
    this.#closedWorkspaces.delete(workspace)
    // The stamp 0 asks for the presence of all machines, because nothing is known about this workspace yet.
    this.#stamp = 0
    this.reportSoon()
    const seen = (machine: string) => {
      const other = entered.others.get(machine)
      return other && this.#clock.steady() - other.seenAt <= silentMsMax ? other : undefined
    }
    const find = (agent: string, on: (machine: string) => OtherMachine | undefined) => {
      for (const machine of entered.others.keys()) {
        const found = on(machine)?.agents.get(agent)
        if (found) return found
      }
      return undefined
    }
    return {
      connectedAgent: (agent) => find(agent, seen),
      lastSeenAgent: (agent) => find(agent, (machine) => entered.others.get(machine)),
      isReached: (machine) => seen(machine)?.isClosed === false,
      unreachable: (machine) => {
        const other = entered.others.get(machine)
        if (seen(machine) || this.#removed.has(machine) || (other?.isClosed && this.#isInTouch)) return undefined
        return { machine, since: other && this.#clock.now() - (this.#clock.steady() - other.seenAt) }
      },
      isRemoved: (machine) => this.#removed.has(machine),
      waits: () =>
        [...entered.others.keys()].flatMap((machine) =>
          [...(seen(machine)?.agents ?? [])].flatMap(([by, { waits = [] }]) =>
            waits.map((wait) => ({ ...wait, by, machine })),
          ),
        ),
      onNews: (listener) => void entered.listeners.push(listener),
      report: (agents) => {
        entered.agents = agents
        this.reportSoon()
      },
      leave: () => {
        this.#entered.delete(workspace)
        this.#closedWorkspaces.add(workspace)
        this.reportSoon()
      },
    }
  }

  /** Whether the database has answered recently, so that news of other machines would have arrived. */
  get #isInTouch(): boolean {
    return this.#clock.steady() - this.#heardAt <= silentMsMax
  }

  /** Broadcasts, within milliseconds, which agents are connected on this machine. Called when an agent has connected or left. */
  reportSoon(): void {
    this.#plan(soonMs)
  }

  /** Tells the other machines that no agent is connected here any more. Gives up after a second. */
  async close(): Promise<void> {
    for (const workspace of this.#entered.keys()) this.#closedWorkspaces.add(workspace)
    this.#entered.clear()
    if (!this.#isStopped)
      await resultWithin(
        this.#report().catch(() => {}),
        lastWordMs,
      )
    this.stop()
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm?.cancel()
    this.#calls.stop()
  }

  #plan(ms: number): void {
    const at = this.#clock.steady() + ms
    if (this.#isStopped || this.#alarmAt <= at) return
    this.#alarm?.cancel()
    this.#alarmAt = at
    this.#alarm = this.#clock.after(ms, () => {
      this.#alarmAt = Number.POSITIVE_INFINITY
      void this.#beat()
    })
  }

  async #beat(): Promise<void> {
    this.#isAgain = true
    if (this.#isReporting) return
    this.#isReporting = true
    let [hasFailed, isOut] = [false, false]
    while (this.#isAgain && !this.#isStopped && !hasFailed) {
      this.#isAgain = false
      // A failed broadcast changes nothing here: what is known of other machines grows old until it no longer counts.
      await this.#report().catch((error) => {
        hasFailed = true
        this.#forget()
        isOut = error instanceof LoginRefused && !this.#isStopped
        if (isOut) this.stop()
      })
    }
    this.#isReporting = false
    if (!hasFailed) this.#listener.onBeat()
    if (isOut) this.#listener.onRemoved()
    if (this.#entered.size + this.#closedWorkspaces.size > 0) this.#plan(hasFailed ? failedMs : beatMs)
  }

  async #report(): Promise<void> {
    const isWhole = this.#beats++ % wholeBeats === 0
    const now = new Map(
      [...this.#entered].map(([workspace, { agents }]) => [workspace, JSON.stringify(agents?.() ?? [])]),
    )
    const here: OwnPresence[] = [...now].map(([workspace, agents]) => {
      const isSame = !isWhole && this.#entered.get(workspace)?.reported === agents
      return { workspace, agents: isSame ? '' : agents }
    })
    const left = [...this.#closedWorkspaces]
    for (const workspace of left) here.push({ workspace, agents: closed })
    if (here.length === 0) return
    if (this.#beats % pruneBeats === 0) for (const { workspace } of here) await pruneKeys(this.#cluster, workspace)
    // The answer describes the moment of the call, and this process may have been suspended before the answer came: the time of the call counts.
    const at = this.#clock.steady()
    const since = this.#beats % hearBeats === 0 || at - this.#heardAt > pauseMs ? 0 : this.#stamp
    const { stamp, reported } = await reportPresence(this.#cluster, since, here)
    this.#stamp = stamp
    this.#heardAt = at
    for (const workspace of left) this.#closedWorkspaces.delete(workspace)
    for (const [workspace, agents] of now) {
      const entered = this.#entered.get(workspace)
      if (entered) entered.reported = agents
    }
    this.#refresh(at, since === 0)
    for (const each of reported) this.#hear(each, at)
  }

  /**
   * Counts machines that the answer does not contain as seen now, since the database reports only changes. Not if all machines were asked for, and not if a
   * machine was silent for too long: such a machine has to be reported again.
   */
  #refresh(at: number, isAll: boolean): void {
    for (const { others } of this.#entered.values())
      for (const other of others.values()) {
        if (isAll) other.isKnown = false
        else if (other.isKnown && at - other.seenAt <= silentMsMax) other.seenAt = at
      }
  }

  #hear({ workspace, machine, seenMs, agents, removed }: MachinePresence, at: number): void {
    const entered = this.#entered.get(workspace)
    if (!entered) return
    const { others, listeners } = entered
    if (removed) {
      this.#removed.add(machine)
      const gone = [...(others.get(machine)?.agents.keys() ?? [])]
      if (others.delete(machine)) for (const listener of listeners) listener(gone)
      return
    }
    // The machine is in the answer: if it had been removed, it was admitted again.
    this.#removed.delete(machine)
    const before = others.get(machine)?.agents ?? new Map()
    const now = agents === '' ? before : agentsOf(agents, machine)
    const isClosed = agents === '' ? others.get(machine)?.isClosed === true : agents === closed
    others.set(machine, { agents: now, seenAt: at - seenMs, isClosed, isKnown: true })
    const gone = [...before.keys()].filter((name) => !now.has(name))
    if (now !== before) for (const listener of listeners) listener(gone)
  }

  /** Makes the next broadcast send the presence of this machine in full, and ask for that of all machines. */
  #forget(): void {
    this.#stamp = 0
    for (const entered of this.#entered.values()) entered.reported = ''
  }
}

/** Reads another machine's list of agents. A malformed list counts as empty. */
function agentsOf(text: string, machine: string): Map<string, RemoteAgent> {
  const found = new Map<string, RemoteAgent>()
  try {
    for (const { name, status, lastCallAt, reached, waits } of JSON.parse(text) as ReportedAgent[])
      if (typeof name === 'string' && typeof lastCallAt === 'number')
        found.set(name, {
          machine,
          status: status === 'idle' ? 'idle' : 'active',
          lastCallAt,
          ...(reached && reaches.includes(reached) ? { reached } : {}),
          ...(Array.isArray(waits) ? { waits: waits.filter(isWait).slice(0, waitsMax) } : {}),
        })
  } catch {
    // A malformed list counts as empty.
  }
  return found
}

function isWait(told: unknown): told is ReportedWait {
  const { on, since, message, thread } = (told ?? {}) as Partial<ReportedWait>
  const isThread = thread === undefined || typeof thread === 'string'
  return typeof on === 'string' && Number.isSafeInteger(since) && typeof message === 'string' && isThread
}
