// Reach: how a message gets to an agent that is there. One function decides it: lists of agents show its answer, and whoever would wait for an
// agent asks it. How messages are then put before the agent lives with each route.

import type { ReachName } from '@agent-relay/sdk/protocol'
import type { AgentHere } from '../elsewhere.ts'
import type { Deliveries } from '../messages/deliveries.ts'
import type { Inboxes } from '../messages/inbox.ts'
import type { Moment } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Workers } from '../workers/workers.ts'
import type { Waiters } from './hook-waiters.ts'

/** Times are told coarsely, or every call of every agent would have to be told. */
const toldMs = 10_000

export interface ReachParts {
  sessions: Sessions
  deliveries: Deliveries
  inboxes: Inboxes
  workers: Workers
  waiters: Waiters
}

export class Reach {
  readonly #parts: ReachParts
  /** Agents whose CLI lets us wake them, and by how many sessions. */
  readonly #woken = new Map<string, number>()

  constructor(parts: ReachParts) {
    this.#parts = parts
  }

  /** Undefined: nobody is connected as this agent. */
  of(agent: string): ReachName | undefined {
    const { sessions, deliveries, inboxes, workers, waiters } = this.#parts
    if (!sessions.isLive(agent)) return undefined
    if (deliveries.isFollowed(agent) || inboxes.isWaiting(agent) || this.#woken.has(agent)) return 'wakes'
    if (waiters.has(agent)) return 'wakes'
    if (sessions.shown(agent)?.isOnlyWay) return 'not now'
    const worker = workers.stateOf(agent)
    // A worker is typed to whenever its prompt is free, except while its program is stopped.
    if (worker) return worker.status === 'paused' ? 'at next turn' : 'wakes'
    return sessions.hasHooks(agent) ? 'at next turn' : 'at next call'
  }

  /** Who is there, as other machines may be told. A name that is not stored yet is nothing to them. */
  present(): AgentHere[] {
    const { sessions } = this.#parts
    const named = sessions
      .all()
      .flatMap(({ agent, provisional }) => (agent === undefined || provisional ? [] : [agent]))
    return [...new Set(named)].map((name) => {
      const status = sessions.statusOf(name) === 'idle' ? 'idle' : 'active'
      const lastCallAt = Math.floor((sessions.lastCall(name) as Moment).at / toldMs) * toldMs
      return { name, status, lastCallAt, reached: this.of(name) }
    })
  }

  /** From now on a message wakes the agent through its CLI, until the function that is returned is called. */
  wakes(agent: string): () => void {
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
