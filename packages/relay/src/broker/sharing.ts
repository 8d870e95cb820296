// The interfaces by which a workspace is shared between machines: the engine that decides for all of them, and the agents on other machines. The folder
// cluster/ implements them for several machines, one-machine.ts for a single machine, so no other code asks how many there are.

import type { Ids, ReachName, RequestKind } from '@agent-relay/sdk/protocol'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import type { Store } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { EntryHub } from './hub.ts'

export interface Sharing {
  /** The name of this machine in its cluster; undefined if the workspace lives on one machine alone. */
  readonly machine: string | undefined
  /** Whether this machine's owner allows another machine this kind of request. */
  allows(machine: string, kind: RequestKind): Promise<boolean>
  /** Lists the machines of the cluster; returns the last known list if the cluster does not answer soon. */
  machines(): Promise<ClusterMachine[]>
  open(parts: SharingParts): OpenedSharing
}

export interface OpenedSharing {
  engine: Engine
  otherMachines: OtherMachines
  /** Begins to report this machine's agents to the other machines, and to answer their requests. */
  serve(here: LocalMachine): void
}

/** This machine's side of a shared workspace, as the other machines see it. */
export interface LocalMachine {
  /** Lists the agents on this machine, with what other machines may know of them. */
  agents(): ReportedAgent[]
  /** Whether the agent is in use here, by a session or a worker's program, so that it should not move to another machine now. */
  isInUse(agent: string): boolean
  /** Carries out a request of another machine, which only this machine can do. */
  carryOutRequest(machine: string, question: unknown): Promise<unknown>
}

/** A machine as its cluster lists it, with times as texts. */
export interface ClusterMachine {
  name: string
  /** The version of the machine's daemon. */
  version?: string
  joinedAt: string
  /** The time of the last sign of life of the machine's daemon. */
  seenAt?: string
  revokedAt?: string
  /** The kinds of requests that this machine's owner allows that machine to make. */
  may: RequestKind[]
}

/** The parts of a workspace from which its engine is made. */
export interface SharingParts {
  name: string
  store: Store
  hub: EntryHub
  /** What the rules may know about the sessions of this machine. */
  localWorld: World
  clock: Clock
  ids: Ids
  onTrouble(error: Error): void
  /** Called if the disk failed during a commit: this process must write nothing more. */
  onFatal(error: Error): void
}

/** The other machines of a shared workspace, as their daemons have last described themselves. The rules of core/ know of them only what `World` shows. */
export interface OtherMachines {
  /** Returns the agent, if it is connected on a machine that has reported recently. */
  connectedAgent(agent: string): RemoteAgent | undefined
  /** Returns the agent, if it was connected on another machine when that machine last reported. */
  lastSeenAgent(agent: string): RemoteAgent | undefined
  /** Whether the machine's daemon has reported recently, with this workspace open. */
  isReached(machine: string): boolean
  /**
   * Returns details of a machine that has stopped reporting without saying that its daemon stops, so that nobody knows what happens there. Otherwise undefined.
   */
  unreachable(machine: string): UnreachableMachine | undefined
  /** Whether the machine was removed from the cluster. */
  isRemoved(machine: string): boolean
  /** Lists the open waits for answers of agents on other machines, as far as is known. */
  waits(): RemoteWait[]
  /** Calls the listener whenever other machines have news, with the agents that have disconnected from those machines. */
  onNews(listener: (gone: readonly string[]) => void): void
  /** Sends the machine's daemon a question in JSON. Undefined means that no answer came in time, and the outcome is unknown. */
  ask(machine: string, question: object): Promise<unknown>
}

export interface UnreachableMachine {
  machine: string
  /** The machine's last sign of life, in milliseconds since 1970; unset if there was none since this daemon started. */
  since?: number
}

/** A wait for the answer to a stored message, as other machines are told of it. */
export interface ReportedWait {
  /** The name of the agent whose answer is awaited. */
  on: string
  /** The start of the wait, in milliseconds since 1970. */
  since: number
  message: string
  /** The thread that the sender named for the answer; unset if it named none. */
  thread?: string
}

export type RemoteWait = ReportedWait & { by: string; machine: string }

export interface RemoteAgent {
  machine: string
  status: 'active' | 'idle'
  /** The time of the agent's last call, in milliseconds since 1970, rounded to about ten seconds. */
  lastCallAt: number
  reached?: ReachName
  waits?: ReportedWait[]
}

/** An agent on this machine, as other machines are told of it. */
export type ReportedAgent = Omit<RemoteAgent, 'machine'> & { name: string }

/** Separates a session's own id from the name of its machine. */
const machineSign = '@'

/** Makes the id that a session has on all machines: its own id with the name of its machine. */
export function idOnMachine(id: string, machine: string | undefined): string {
  return machine === undefined ? id : `${id}${machineSign}${machine}`
}

/** Combines what rules may know about sessions: those of this machine, and those of other machines as long as these report. */
export function worldWithOtherMachines(here: World, otherMachines: OtherMachines): World {
  return {
    machine: here.machine,
    person: here.person,
    isLive: (agent) => here.isLive(agent) || otherMachines.connectedAgent(agent) !== undefined,
    liveSession: (hold, agent) => {
      const found = here.liveSession(hold, agent)
      const machine = hold.slice(hold.indexOf(machineSign) + 1)
      if (found !== undefined || !hold.includes(machineSign) || machine === here.machine) return found
      const isThere =
        otherMachines.isReached(machine) &&
        (agent === undefined || otherMachines.connectedAgent(agent)?.machine === machine)
      return isThere ? hold : undefined
    },
    isRemoved: (machine) => otherMachines.isRemoved(machine),
  }
}
