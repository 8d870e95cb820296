// Presence: this daemon says about once a second who is there, and hears what is new of the other machines. It may be late, and is gone after
// a crash of the database; what nobody has confirmed for a while counts as not there.

import { reaches } from '@agent-relay/sdk/protocol'
import type { AgentHere, OtherMachines, RemoteAgent, ToldWait } from '../broker/sharing.ts'
import type { Alarm, Clock } from '../machine/clock.ts'
import { type Here, type Told, tellPresence } from './postgres/calls.ts'
import { LoginRefused } from './postgres/connection.ts'
import type { PostgresCluster } from './postgres/postgres-cluster.ts'
import { pruneKeys } from './postgres/pruning.ts'

/** Between two times that it is said. */
const beatMs = 1_000
/** After a failure: the database may be out of reach for long. */
const failedMs = 5_000
/** Several who come at once are told of together. */
const soonMs = 20
/** A machine of which nothing was heard for so long counts as out of reach. */
export const seenMsMax = 15_000
/** All is said again after so many beats, since the database may have forgotten it, and heard again after so many, since its clock may jump. */
const [wholeBeats, hearBeats] = [10, 60]
/** After a pause as long as this, one asks for all: what was told in between is told no more. */
const pauseMs = 5_000
/** About every ten minutes what only takes room is forgotten. */
const pruneBeats = 600

/** Said instead of a list of agents. An older daemon takes it for an empty one. */
const closed = JSON.stringify('closed')
/** Who stops waits this long for the others to be told. */
const lastWordMs = 1_000

/** Of one agent, as many as are believed. */
const waitsMax = 32

interface Entered {
  agents(): AgentHere[]
  /** As it was told last. */
  told: string
  /** By machine. */
  others: Map<string, Other>
  listeners: ((gone: readonly string[]) => void)[]
}

interface Other {
  agents: Map<string, RemoteAgent>
  /** When its daemon was last heard of, as far as this one knows. */
  seenAt: number
  /** Its daemon has closed the workspace: nobody can be there until it is open again. */
  isClosed: boolean
  /** The database knows of it. After a crash it has forgotten everybody, and tells of nobody who does not come back. */
  isKnown: boolean
}

export interface PresenceListener {
  /** Another machine may have asked something. */
  onBeat(): void
  /** The cluster does not let this machine in any more. Nothing is said or heard from now on. */
  onRemoved(): void
}

export class Presence {
  readonly #cluster: PostgresCluster
  readonly #clock: Clock
  readonly #entered = new Map<string, Entered>()
  /** Workspaces that were closed here, until the others are told. */
  readonly #left = new Set<string>()
  readonly #calls: { stop(): void }
  #alarm: Alarm | undefined
  #alarmAt = Number.POSITIVE_INFINITY
  #isTelling = false
  #isAgain = false
  #beats = 0
  #stamp = 0
  #heardAt = Number.NEGATIVE_INFINITY
  #isStopped = false
  /** Machines that are of the cluster no more. */
  readonly #removed = new Set<string>()
  readonly #listener: PresenceListener

  constructor(cluster: PostgresCluster, clock: Clock, listener: PresenceListener) {
    this.#cluster = cluster
    this.#clock = clock
    this.#listener = listener
    this.#calls = cluster.onCall(() => this.soon())
  }

  /** `agents`: who is there on this machine, whenever it is asked. */
  enter(workspace: string, agents: () => AgentHere[]): Omit<OtherMachines, 'ask'> & { leave(): void } {
    const entered: Entered = { agents, told: '', others: new Map(), listeners: [] }
    this.#entered.set(workspace, entered)
    this.#left.delete(workspace)
    // Of this workspace nothing was told yet.
    this.#stamp = 0
    this.soon()
    const seen = (machine: string) => {
      const other = entered.others.get(machine)
      return other && this.#clock.steady() - other.seenAt <= seenMsMax ? other : undefined
    }
    const find = (agent: string, on: (machine: string) => Other | undefined) => {
      for (const machine of entered.others.keys()) {
        const found = on(machine)?.agents.get(agent)
        if (found) return found
      }
      return undefined
    }
    return {
      of: (agent) => find(agent, seen),
      last: (agent) => find(agent, (machine) => entered.others.get(machine)),
      isSeen: (machine) => seen(machine)?.isClosed === false,
      outOfReach: (machine) => {
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
      leave: () => {
        this.#entered.delete(workspace)
        this.#left.add(workspace)
        this.soon()
      },
    }
  }

  /** The database has answered just now, so that it would have told what is new. */
  get #isInTouch(): boolean {
    return this.#clock.steady() - this.#heardAt <= seenMsMax
  }

  /** Somebody came or went. */
  soon(): void {
    this.#plan(soonMs)
  }

  /** Tells the others that nobody is here any more, if that can be done soon. */
  async close(): Promise<void> {
    for (const workspace of this.#entered.keys()) this.#left.add(workspace)
    this.#entered.clear()
    const late = new Promise<void>((resolve) => void setTimeout(resolve, lastWordMs).unref())
    if (!this.#isStopped) await Promise.race([this.#tell().catch(() => {}), late])
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
      // Out of reach, or thrown out: nobody is told, and what was heard grows old.
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
    if (this.#entered.size + this.#left.size > 0) this.#plan(hasFailed ? failedMs : beatMs)
  }

  async #tell(): Promise<void> {
    const isWhole = this.#beats++ % wholeBeats === 0
    const now = new Map([...this.#entered].map(([workspace, { agents }]) => [workspace, JSON.stringify(agents())]))
    const here: Here[] = [...now].map(([workspace, agents]) => {
      const isSame = !isWhole && this.#entered.get(workspace)?.told === agents
      return { workspace, agents: isSame ? '' : agents }
    })
    const left = [...this.#left]
    for (const workspace of left) here.push({ workspace, agents: closed })
    if (here.length === 0) return
    if (this.#beats % pruneBeats === 0) for (const { workspace } of here) await pruneKeys(this.#cluster, workspace)
    // What is told holds for the moment when it was asked for: the answer may come when this process has been stopped for long.
    const at = this.#clock.steady()
    const since = this.#beats % hearBeats === 0 || at - this.#heardAt > pauseMs ? 0 : this.#stamp
    const { stamp, told } = await tellPresence(this.#cluster, since, here)
    this.#stamp = stamp
    this.#heardAt = at
    for (const workspace of left) this.#left.delete(workspace)
    for (const [workspace, agents] of now) {
      const entered = this.#entered.get(workspace)
      if (entered) entered.told = agents
    }
    this.#refresh(at, since === 0)
    for (const each of told) this.#hear(each, at)
  }

  /** Of whom nothing is told is there as before, unless all were asked for. Who is late stays so until something is told of it. */
  #refresh(at: number, isAll: boolean): void {
    for (const { others } of this.#entered.values())
      for (const other of others.values()) {
        if (isAll) other.isKnown = false
        else if (other.isKnown && at - other.seenAt <= seenMsMax) other.seenAt = at
      }
  }

  #hear({ workspace, machine, seenMs, agents, removed }: Told, at: number): void {
    const entered = this.#entered.get(workspace)
    if (!entered) return
    const { others, listeners } = entered
    if (removed) {
      this.#removed.add(machine)
      const gone = [...(others.get(machine)?.agents.keys() ?? [])]
      if (others.delete(machine)) for (const listener of listeners) listener(gone)
      return
    }
    // It may have been let in again.
    this.#removed.delete(machine)
    const before = others.get(machine)?.agents ?? new Map()
    const now = agents === '' ? before : agentsOf(agents, machine)
    const isClosed = agents === '' ? others.get(machine)?.isClosed === true : agents === closed
    others.set(machine, { agents: now, seenAt: at - seenMs, isClosed, isKnown: true })
    const gone = [...before.keys()].filter((name) => !now.has(name))
    if (now !== before) for (const listener of listeners) listener(gone)
  }

  /** The next time all is said and heard again. */
  #forget(): void {
    this.#stamp = 0
    for (const entered of this.#entered.values()) entered.told = ''
  }
}

/** What another machine says is not believed to be well formed. */
function agentsOf(text: string, machine: string): Map<string, RemoteAgent> {
  const found = new Map<string, RemoteAgent>()
  try {
    for (const { name, status, lastCallAt, reached, waits } of JSON.parse(text) as AgentHere[])
      if (typeof name === 'string' && typeof lastCallAt === 'number')
        found.set(name, {
          machine,
          status: status === 'idle' ? 'idle' : 'active',
          lastCallAt,
          ...(reached && reaches.includes(reached) ? { reached } : {}),
          ...(Array.isArray(waits) ? { waits: waits.filter(isWait).slice(0, waitsMax) } : {}),
        })
  } catch {
    // Nobody is there, as far as this machine can tell.
  }
  return found
}

function isWait(told: unknown): told is ToldWait {
  const { on, since, message, thread } = (told ?? {}) as Partial<ToldWait>
  const isThread = thread === undefined || typeof thread === 'string'
  return typeof on === 'string' && Number.isSafeInteger(since) && typeof message === 'string' && isThread
}
