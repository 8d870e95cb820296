// Facts of a workspace that several machines share: where an agent is at home, and what became of its mail there.

import type { Route } from '../routes.ts'

/** The machine that decides the agent's deliveries from now on. The epoch counts the homes of this name, from 1. */
export interface AgentHomed {
  type: 'agent.homed'
  agent: string
  machine: string
  epoch: number
  /** The former home was not asked: what was shown there and has not been told yet may be shown again. */
  isTakeOver?: true
}

/** What has become of messages for the agent, told by the machine that was its home in this epoch. */
export interface DeliveriesNoted {
  type: 'deliveries.noted'
  agent: string
  machine: string
  epoch: number
  /** Everything up to this entry of the machine's local journal has been told. */
  through: number
  receipts: NotedReceipt[]
}

/** Only what has changed since the last note; times in milliseconds. */
export interface NotedReceipt {
  message: string
  offeredAt?: number
  /** Unset with `offeredAt`: a hook has taken it again and not shown it yet. */
  route?: Route
  readAt?: number
}

export type HomeFact = AgentHomed | DeliveriesNoted
