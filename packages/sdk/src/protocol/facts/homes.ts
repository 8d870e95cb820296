// Facts about the home machines of agents, in a workspace that several machines share: which machine hands out an agent's messages, and what became of those
// messages.

import type { Route } from '../routes.ts'

/** The agent has a new home: the machine that hands out its messages from here on. `epoch` counts the homes of the agent, from 1. */
export interface AgentHomed {
  type: 'agent.homed'
  agent: string
  machine: string
  epoch: number
  /** Set if the former home machine did not agree to the move: messages that it has shown and not reported yet may be shown again. */
  isTakeOver?: true
}

/** The agent's home machine of this epoch reports to the other machines what became of the agent's messages. */
export interface DeliveriesNoted {
  type: 'deliveries.noted'
  agent: string
  machine: string
  epoch: number
  /** The number of the last entry in the machine's own journal (the local lane) that this report covers. */
  through: number
  receipts: NotedReceipt[]
}

/** The changes of a message's receipt since the last report. Times are in ms since 1970. */
export interface NotedReceipt {
  message: string
  offeredAt?: number
  /** How the message was shown. Unset although `offeredAt` is set: a hook has taken the message again and not shown it yet. */
  route?: Route
  readAt?: number
}

export type HomeFact = AgentHomed | DeliveriesNoted
