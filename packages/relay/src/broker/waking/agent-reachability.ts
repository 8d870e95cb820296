// Reachability: how soon a message gets to a connected agent, and whether it wakes the agent. One function decides this for lists of agents and for
// senders that wait. Other files show the messages to agents, one file for each route.

import type { ReachName } from '@agent-relay/sdk/protocol'
import type { Deliveries } from '../messages/deliveries.ts'
import type { Inboxes } from '../messages/inbox.ts'
import type { WorkerStates } from '../presence/availability.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { HookWaiters } from './hook-waiters.ts'

export interface AgentReachabilityParts {
  sessions: Sessions
  deliveries: Deliveries
  inboxes: Inboxes
  workers: WorkerStates
  waiters: HookWaiters
}

export class AgentReachability {
  readonly #parts: AgentReachabilityParts
  /** The agents whose CLI lets the daemon wake them, with the number of their sessions for which it does. */
  readonly #woken = new Map<string, number>()

  constructor(parts: AgentReachabilityParts) {
    this.#parts = parts
  }

  /** Returns how messages reach the agent; undefined if nobody is connected as the agent. */
  of(agent: string): ReachName | undefined {
    const { sessions, deliveries, inboxes, workers, waiters } = this.#parts
    if (!sessions.isLive(agent)) return undefined
    if (deliveries.isFollowed(agent) || inboxes.isWaiting(agent) || this.#woken.has(agent)) return 'wakes'
    if (waiters.hasWaiterFor(agent)) return 'wakes'
    if (sessions.programState(agent)?.isOnlyWay) return 'not now'
    const worker = workers.stateOf(agent)
    // The supervisor types messages to a worker whenever its prompt is free, except while its program is paused.
    if (worker) return worker.status === 'paused' ? 'at next turn' : 'wakes'
    return sessions.hasHooks(agent) ? 'at next turn' : 'at next call'
  }

  /** Records that messages wake the agent through its CLI from now on, until the returned function is called. */
  recordWaking(agent: string): () => void {
    this.#woken.set(agent, (this.#woken.get(agent) ?? 0) + 1)
    let isOver = false
    return () => {
      const left = (this.#woken.get(agent) ?? 1) - 1
      if (isOver) return
      isOver = true
      if (left === 0) this.#woken.delete(agent)
      else this.#woken.set(agent, left)
    }
  }
}
