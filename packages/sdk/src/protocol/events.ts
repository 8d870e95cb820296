// Facts as watchers see them: one type for each, told apart by `type`. The daemon decides which ones a watcher may see.

import type { AgentTokenIssued, Fact, WorkspaceKeyIssued } from './facts.ts'
import type { Message } from './words.ts'

// A type, not an interface: an event may be passed on as a record of unknown fields.
type EventHead = {
  /** The number of the event's entry. All events of one command share one number. */
  seq: number
  ts: string
  /** The name of whoever gave the command. */
  by: string
}

/** The event of a fact. A `message.created` carries the whole message, body included. Hashes of keys and tokens are left out. */
type EventOfFact<F extends Fact> = F extends Fact
  ? EventHead & { type: F['type']; fact: Shown<F> } & (F['type'] extends 'message.created'
        ? { message: Message }
        : { message?: undefined })
  : never

type Shown<F extends Fact> = F extends WorkspaceKeyIssued
  ? Record<never, never>
  : F extends AgentTokenIssued
    ? Pick<F, 'agent'>
    : Omit<F, 'type'>

/** The number of entries after `since` that a watch for a screen (`newest`) left out. Not a fact, and not in the journal. */
type EventsSkipped = EventHead & {
  type: 'events.skipped'
  fact: { count: number; since: number }
  message?: undefined
}

/**
 * An agent has connected to this daemon, or its last connection has ended. Not a fact, and not in the journal, so it has no number. Only watches that ask for
 * it get it, and from then on: after a lost link, ask who is there (`agent.list`).
 */
type SessionEvent = EventHead & {
  type: 'session.event'
  fact: { agent: string; state: 'connected' | 'away' }
  message?: undefined
}

/** One thing that happened. A newer daemon may send types that are not listed here: a `switch` over `type` needs a `default`. */
export type RelayEvent = EventOfFact<Fact> | EventsSkipped | SessionEvent

export type EventName = RelayEvent['type']
/** A type of event; `action.*` names a family, `*` all. */
export type EventPattern = EventName | FamilyOf<EventName> | '*'
type FamilyOf<N extends string> = N extends `${infer Family}.${string}` ? `${Family}.*` : never

/** The events that a pattern lets through. */
export type EventOf<P extends EventPattern> = P extends '*'
  ? RelayEvent
  : P extends `${infer Family}.*`
    ? Extract<RelayEvent, { type: `${Family}.${string}` }>
    : Extract<RelayEvent, { type: P }>
