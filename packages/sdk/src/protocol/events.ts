// Events: the facts of the journal in the form in which watchers see them, with one TypeScript type for each value of `type`. The daemon decides which events a
// watcher may see.

import type { AgentTokenIssued, Fact, WorkspaceKeyIssued } from './facts.ts'
import type { Message } from './words.ts'

// A type alias and not an interface, because TypeScript lets only an alias be passed as `Record<string, unknown>`.
type EventHead = {
  /** The number (`seq`) of the journal entry that the event belongs to. All events of one command have the same number. */
  seq: number
  ts: string
  /** The name of the agent that gave the command. */
  by: string
}

/** The event for a type of fact. A `message.created` carries the whole message with its body. Hashes of keys and tokens are left out. */
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
 * Made for a watch with `newest`, for a program that draws events on a screen: `count` journal entries after the entry `since` were left out. This event is not
 * in the journal.
 */
type EventsSkipped = EventHead & {
  type: 'events.skipped'
  fact: { count: number; since: number }
  message?: undefined
}

/**
 * An agent has connected to this daemon, or its last connection has ended. This event is not in the journal, so its number is 0. Only watches that name its
 * type get it, and only from then on: after a lost connection, call `agent.list` to learn who is connected.
 */
type SessionEvent = EventHead & {
  type: 'session.event'
  fact: { agent: string; state: 'connected' | 'away' }
  message?: undefined
}

/** One thing that happened in the workspace. A newer daemon may send types that are not listed here: a `switch` over `type` needs a `default`. */
export type RelayEvent = EventOfFact<Fact> | EventsSkipped | SessionEvent

export type EventName = RelayEvent['type']
/** A type of event; `action.*` stands for a family of types, `*` for all types. */
export type EventPattern = EventName | FamilyOf<EventName> | '*'
type FamilyOf<N extends string> = N extends `${infer Family}.${string}` ? `${Family}.*` : never

/** The events whose type matches a pattern. */
export type EventOf<P extends EventPattern> = P extends '*'
  ? RelayEvent
  : P extends `${infer Family}.*`
    ? Extract<RelayEvent, { type: `${Family}.${string}` }>
    : Extract<RelayEvent, { type: P }>
