// Events: the facts of the journal in the form that watchers see, one type for each, told apart by `type`. The daemon decides which events a watcher may see.

import type { AgentTokenIssued, Fact, WorkspaceKeyIssued } from './facts.ts'
import type { Message } from './words.ts'

// A type alias and not an interface, so that an event can be passed as `Record<string, unknown>`.
type EventHead = {
  /** The number of the event's journal entry. All events of one command share one number. */
  seq: number
  ts: string
  /** The name of the agent that gave the command. */
  by: string
}

/** The event that belongs to a type of fact. A `message.created` carries the whole message with its body. Hashes of keys and tokens are left out. */
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

/**
 * How many entries after `since` a watch with `newest` (for a program that draws a screen) has left out. This event is made for the watcher, and is not in the
 * journal.
 */
type EventsSkipped = EventHead & {
  type: 'events.skipped'
  fact: { count: number; since: number }
  message?: undefined
}

/**
 * An agent has connected to this daemon, or its last connection has ended. This event is not in the journal, so it has no number. Only watches that ask for its
 * type get it, and only from then on: after a lost connection, call `agent.list` to learn who is present.
 */
type SessionEvent = EventHead & {
  type: 'session.event'
  fact: { agent: string; state: 'connected' | 'away' }
  message?: undefined
}

/** One thing that happened. A newer daemon may send types that are not listed here: a `switch` over `type` needs a `default`. */
export type RelayEvent = EventOfFact<Fact> | EventsSkipped | SessionEvent

export type EventName = RelayEvent['type']
/** A type of event; `action.*` stands for a family of types, `*` for all types. */
export type EventPattern = EventName | FamilyOf<EventName> | '*'
type FamilyOf<N extends string> = N extends `${infer Family}.${string}` ? `${Family}.*` : never

/** The type of the events that match a pattern. */
export type EventOf<P extends EventPattern> = P extends '*'
  ? RelayEvent
  : P extends `${infer Family}.*`
    ? Extract<RelayEvent, { type: `${Family}.${string}` }>
    : Extract<RelayEvent, { type: P }>
