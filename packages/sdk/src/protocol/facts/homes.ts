// Facts of a workspace that several machines share: which machine is an agent's home, and what became of the agent's messages on that machine.

import type { Route } from '../routes.ts'

/** The agent has a new home, the machine that decides about its deliveries from here on. The epoch counts the homes that this agent name has had, from 1. */
export interface AgentHomed {
  type: 'agent.homed'
  agent: string
  machine: string
  epoch: number
  /** Set if the former home was not asked: messages that were shown there, and not reported yet, may be shown again. */
  isTakeOver?: true
}

/** The machine that was the agent's home in this epoch reports to the others what became of the agent's messages. */
export interface DeliveriesNoted {
  type: 'deliveries.noted'
  agent: string
  machine: string
  epoch: number
  /** The number of the last entry in the machine's local journal that this report covers. */
  through: number
  receipts: NotedReceipt[]
}

/** What has changed in a message's receipt since the last report; times in ms since 1970. */
export interface NotedReceipt {
  message: string
  offeredAt?: number
  /** How the message was shown. Unset beside a set `offeredAt` if a hook has taken the message again and not shown it yet. */
  route?: Route
  readAt?: number
}

export type HomeFact = AgentHomed | DeliveriesNoted
