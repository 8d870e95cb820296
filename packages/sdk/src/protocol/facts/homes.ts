// Facts of a workspace that several machines share: where an agent is at home, and what became of its mail there.

import type { Route } from '../routes.ts'

/** The agent has a new home, the machine that decides its deliveries from now on. The epoch counts the homes of this name, from 1. */
export interface AgentHomed {
  type: 'agent.homed'
  agent: string
  machine: string
  epoch: number
  /** The former home was not asked: messages that were shown there and not told of yet may be shown again. */
  isTakeOver?: true
}

/** The machine that was the agent's home in this epoch tells the others what has become of the agent's messages. */
export interface DeliveriesNoted {
  type: 'deliveries.noted'
  agent: string
  machine: string
  epoch: number
  /** Everything up to this entry of the machine's local journal has been told. */
  through: number
  receipts: NotedReceipt[]
}

/** The part of a receipt that has changed since the last note; times in milliseconds. */
export interface NotedReceipt {
  message: string
  offeredAt?: number
  /** Unset beside a set `offeredAt`: a hook has taken the message again and not shown it yet. */
  route?: Route
  readAt?: number
}

export type HomeFact = AgentHomed | DeliveriesNoted
