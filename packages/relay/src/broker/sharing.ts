// Sharing as a contract: what a workspace gets where several machines share it, an engine that decides with the others, and who is there on them.

import type { Ids, RequestKind } from '@agent-relay/sdk/protocol'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import type { Store } from '../store/store.ts'
import type { AgentHere, Elsewhere } from './elsewhere.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'

export interface Sharing {
  /** This one, as the others know it. */
  readonly machine: string
  /** Has this machine's owner said that the other may ask for such things here? */
  allows(machine: string, kind: RequestKind): Promise<boolean>
  /** The machines of the cluster; where it does not answer soon, as it has said last. */
  machines(): Promise<ClusterMachine[]>
  open(parts: SharingParts): { engine: Engine; elsewhere: Elsewhere }
}

/** A machine as its cluster lists it. Times as texts. */
export interface ClusterMachine {
  name: string
  /** Of its daemon. */
  version?: string
  joinedAt: string
  /** When its daemon was last heard of. */
  seenAt?: string
  revokedAt?: string
  /** What it may ask of this machine. */
  may: RequestKind[]
}

/** What of a workspace it is made from. */
export interface SharingParts {
  name: string
  store: Store
  hub: Hub
  /** The sessions of this machine. */
  here: World
  clock: Clock
  ids: Ids
  /** Who is there on this machine, as others may be told. */
  present(): AgentHere[]
  /** Would somebody lose something if the agent moved to another machine now? */
  isInUse(agent: string): boolean
  /** Another machine asks for something that only this one can do. */
  carryOut(machine: string, question: unknown): Promise<unknown>
  onTrouble(error: Error): void
}
