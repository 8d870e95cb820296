// Elsewhere: who is there on the other machines of a shared workspace, as their daemons have said it last. Undefined where a workspace lives on
// one machine alone. Nothing is decided by it but what a rule may know of the world.

import type { ReachName } from '@agent-relay/sdk/protocol'
import type { World } from '../core/world.ts'

export interface Elsewhere {
  /** The agent, if somebody is connected as it on a machine that was heard of just now. */
  of(agent: string): AgentElsewhere | undefined
  /** The agent, if somebody was connected as it when its machine was last heard of. */
  last(agent: string): AgentElsewhere | undefined
  /** Was its daemon heard of just now, with this workspace open? */
  isSeen(machine: string): boolean
  /** Set while it is not known what happens on the machine: it is silent, and has not said that its daemon stops. */
  outOfReach(machine: string): OutOfReach | undefined
  /** Was it removed from the cluster? */
  isRemoved(machine: string): boolean
  /** Those that agents there have told of, and stand as far as is known. */
  waits(): WaitElsewhere[]
  /** Told whenever other machines have said something new, with the agents that were there until then. */
  onNews(listener: (gone: readonly string[]) => void): void
  /** Asks its daemon something, JSON both ways. Undefined: there was no answer in time, and it is not known what came of it. */
  ask(machine: string, question: object): Promise<unknown>
}

export interface OutOfReach {
  machine: string
  /** Milliseconds since 1970: when it was last heard of. Unset if it never was since this daemon started. */
  since?: number
}

/** A wait for the answer to a message that is stored, as other machines may be told. */
export interface ToldWait {
  /** The agent that is waited for. */
  on: string
  /** Milliseconds since 1970. */
  since: number
  message: string
  /** Named by the sender. */
  thread?: string
}

export type WaitElsewhere = ToldWait & { by: string; machine: string }

export interface AgentElsewhere {
  machine: string
  status: 'active' | 'idle'
  /** Milliseconds since 1970, to about ten seconds. */
  lastCallAt: number
  reached?: ReachName
  waits?: ToldWait[]
}

/** Who is there on this machine, as others may be told. */
export type AgentHere = Omit<AgentElsewhere, 'machine'> & { name: string }

/** What a session's id has after its own part: the machine that it lives on. */
const machineSign = '@'

/** The id of a session on a machine. */
export function onMachine(id: string, machine: string | undefined): string {
  return machine === undefined ? id : `${id}${machineSign}${machine}`
}

/** The world as rules may know it: the sessions of this machine, and who is elsewhere. A session there lives for as long as its machine is heard of. */
export function worldWith(here: World, elsewhere: Elsewhere): World {
  return {
    machine: here.machine,
    isLive: (agent) => here.isLive(agent) || elsewhere.of(agent) !== undefined,
    holder: (hold, agent) => {
      const found = here.holder(hold, agent)
      const machine = hold.slice(hold.indexOf(machineSign) + 1)
      if (found !== undefined || !hold.includes(machineSign) || machine === here.machine) return found
      const isThere = elsewhere.isSeen(machine) && (agent === undefined || elsewhere.of(agent)?.machine === machine)
      return isThere ? hold : undefined
    },
    isRemoved: (machine) => elsewhere.isRemoved(machine),
  }
}
