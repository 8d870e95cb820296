// Presence: about once a second this daemon tells which agents are connected here, and hears what is new on the other machines. Presence may be late, and is
// gone after a crash of the database; agents that no machine has confirmed for a while count as not connected.

import { reaches } from '@agent-relay/sdk/protocol'
import type { OtherMachines, RemoteAgent, ReportedAgent, ReportedWait } from '../broker/sharing.ts'
import type { Alarm, Clock } from '../machine/clock.ts'
import { within } from '../machine/within.ts'
import { type MachinePresence, type OwnPresence, tellPresence } from './postgres/calls.ts'
import { LoginRefused } from './postgres/connection.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'
import { pruneKeys } from './postgres/pruning.ts'

/** Interval between presence broadcasts. */
const beatMs = 1_000
/** Interval between presence broadcasts after a failure, since the database may be unreachable for long. */
const failedMs = 5_000
/** Delay before a change is told: several agents that come at once are told of together. */
const soonMs = 20
/** A machine that was silent for this long counts as unreachable. */
export const silentMsMax = 15_000
/** Broadcasts after which all presence is told again, since the database may have forgotten it, and heard again, since the database's clock may jump. */
const [wholeBeats, hearBeats] = [10, 60]
/** After a pause this long all presence is asked for: news from the time of the pause is not told again. */
const pauseMs = 5_000
/** Number of presence broadcasts, about ten minutes, after which old conflict keys are pruned. */
const pruneBeats = 600

/** Stands in place of a list of agents once the workspace is closed on a machine. An older daemon takes it for an empty list. */
const closed = JSON.stringify('closed')
/** How long a stopping daemon waits until the other machines have been told. */
const lastWordMs = 1_000

/** Maximum number of waits (for answers to messages) that are believed of one agent on another machine. */
const waitsMax = 32

interface WorkspacePresence {
  /** Returns the agents that are connected on this machine. Unset until other machines may be told of them. */
  agents?(): ReportedAgent[]
  /** The agents as JSON, as they were last told to the other machines. */
  told: string
  /** Other machines by name. */
  others: Map<string, OtherMachine>
  listeners: ((gone: readonly string[]) => void)[]
}

interface OtherMachine {
  agents: Map<string, RemoteAgent>
  /** The time by the steady clock at which the machine's daemon was last heard of. */
  seenAt: number
  /** Whether the machine's daemon has closed the workspace: no agent is connected there until it is open again. */
  isClosed: boolean
  /** Whether the database knows the machine. After a crash it has forgotten all machines, and does not report those that stay away. */
  isKnown: boolean
}

export interface PresenceListener {
  /** Called after every presence broadcast: another machine may have asked something. */
  onBeat(): void
  /** Called when the cluster no longer lets this machine in. No presence is told or heard after that. */
  onRemoved(): void
}

export class Presence {
  readonly #cluster: PostgresCluster
  readonly #clock: Clock
  readonly #entered = new Map<string, WorkspacePresence>()
  /** Workspaces that were closed on this machine, until the other machines have been told. */
  readonly #closedWorkspaces = new Set<string>()
  readonly #calls: { stop(): void }
  #alarm: Alarm | undefined
  #alarmAt = Number.POSITIVE_INFINITY
  #isTelling = false
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
    this.#calls = cluster.onHint(() => this.tellSoon())
  }

  /** Begins to hear the presence in a workspace, and after `tell` to tell which agents are connected on this machine. */
  enter(workspace: string): Omit<OtherMachines, 'ask'> & { tell(agents: () => ReportedAgent[]): void; leave(): void } {
    const entered: WorkspacePresence = { told: '', others: new Map(), listeners: [] }
    this.#entered.set(workspace, entered)
    this.#closedWorkspaces.delete(workspace)
    // Nothing has been heard about this workspace yet, so the next answer must cover all machines.
    this.#stamp = 0
    this.tellSoon()
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
      tell: (agents) => {
        entered.agents = agents
        this.tellSoon()
      },
      leave: () => {
        this.#entered.delete(workspace)
        this.#closedWorkspaces.add(workspace)
        this.tellSoon()
      },
    }
  }

  /** Whether the database has answered lately, and would have told any news. */
  get #isInTouch(): boolean {
    return this.#clock.steady() - this.#heardAt <= silentMsMax
  }

  /** Soon tells the other machines which agents are connected on this one. Called when an agent has come or gone. */
  tellSoon(): void {
    this.#plan(soonMs)
  }

  /** Tells the other machines that no agent is connected here any more, if that can be done soon. */
  async close(): Promise<void> {
    for (const workspace of this.#entered.keys()) this.#closedWorkspaces.add(workspace)
    this.#entered.clear()
    if (!this.#isStopped)
      await within(
        this.#tell().catch(() => {}),
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
    if (this.#isTelling) return
    this.#isTelling = true
    let [hasFailed, isOut] = [false, false]
    while (this.#isAgain && !this.#isStopped && !hasFailed) {
      this.#isAgain = false
      // After a failure the other machines hear nothing from this one, and what was heard of them grows old.
      await this.#tell().catch((error) => {
        hasFailed = true
        this.#forget()
        isOut = error instanceof LoginRefused && !this.#isStopped
        if (isOut) this.stop()
      })
    }
    this.#isTelling = false
    if (!hasFailed) this.#listener.onBeat()
    if (isOut) this.#listener.onRemoved()
    if (this.#entered.size + this.#closedWorkspaces.size > 0) this.#plan(hasFailed ? failedMs : beatMs)
  }

  async #tell(): Promise<void> {
    const isWhole = this.#beats++ % wholeBeats === 0
    const now = new Map(
      [...this.#entered].map(([workspace, { agents }]) => [workspace, JSON.stringify(agents?.() ?? [])]),
    )
    const here: OwnPresence[] = [...now].map(([workspace, agents]) => {
      const isSame = !isWhole && this.#entered.get(workspace)?.told === agents
      return { workspace, agents: isSame ? '' : agents }
    })
    const left = [...this.#closedWorkspaces]
    for (const workspace of left) here.push({ workspace, agents: closed })
    if (here.length === 0) return
    if (this.#beats % pruneBeats === 0) for (const { workspace } of here) await pruneKeys(this.#cluster, workspace)
    // An answer describes the moment of the question; the answer may arrive after this process was stopped for long.
    const at = this.#clock.steady()
    const since = this.#beats % hearBeats === 0 || at - this.#heardAt > pauseMs ? 0 : this.#stamp
    const { stamp, told } = await tellPresence(this.#cluster, since, here)
    this.#stamp = stamp
    this.#heardAt = at
    for (const workspace of left) this.#closedWorkspaces.delete(workspace)
    for (const [workspace, agents] of now) {
      const entered = this.#entered.get(workspace)
      if (entered) entered.told = agents
    }
    this.#refresh(at, since === 0)
    for (const each of told) this.#hear(each, at)
  }

  /**
   * Renews the time of machines that the answer leaves out: they are there as before, unless all machines were asked for. A late machine stays late until
   * the database reports it.
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
    // A machine that was removed may have been let in again.
    this.#removed.delete(machine)
    const before = others.get(machine)?.agents ?? new Map()
    const now = agents === '' ? before : agentsOf(agents, machine)
    const isClosed = agents === '' ? others.get(machine)?.isClosed === true : agents === closed
    others.set(machine, { agents: now, seenAt: at - seenMs, isClosed, isKnown: true })
    const gone = [...before.keys()].filter((name) => !now.has(name))
    if (now !== before) for (const listener of listeners) listener(gone)
  }

  /** Makes the next broadcast tell and hear all presence again. */
  #forget(): void {
    this.#stamp = 0
    for (const entered of this.#entered.values()) entered.told = ''
  }
}

/** Reads another machine's list of agents, which may be malformed. */
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
    // An unreadable list counts as nobody being there.
  }
  return found
}

function isWait(told: unknown): told is ReportedWait {
  const { on, since, message, thread } = (told ?? {}) as Partial<ReportedWait>
  const isThread = thread === undefined || typeof thread === 'string'
  return typeof on === 'string' && Number.isSafeInteger(since) && typeof message === 'string' && isThread
}
