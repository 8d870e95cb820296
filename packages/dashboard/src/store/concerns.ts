// The agents that an event concerns, and the place where it belongs. The event's words are in parts/event-text.ts.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { conversationOf } from './conversations.ts'

/** A fact's fields, whatever its type: also of a type that only a newer daemon knows. */
export function fieldsOf({ fact }: Pick<RelayEvent, 'fact'>): Record<string, unknown> {
  return fact
}

/** A key that is unique among all events: facts of one entry share its number. */
export function eventKey(event: RelayEvent): string {
  const { id, message, agent, channel, conversation, name, path } = fieldsOf(event)
  const own = [id, message, agent, channel, conversation, name, path]
  return [event.seq, event.type, ...own.filter((part) => typeof part === 'string')].join(' ')
}

/** All agents that a fact is about, its author first. */
export function partiesOf(event: RelayEvent): string[] {
  const { agent, worker, caller, provider, parent } = fieldsOf(event)
  const named = [agent, worker, caller, provider, parent].filter((name) => typeof name === 'string')
  const to = event.message ? [event.message.to].flat() : []
  return [...new Set([event.by, ...named, ...to.filter((name) => !/^[#*]/.test(name))])]
}

/** The agent in whose lane the event stands; the daemon for an event that nobody asked for. */
export function authorOf(event: RelayEvent): string {
  if (event.message) return event.message.from
  const { agent } = fieldsOf(event)
  return event.type.startsWith('delivery.') && typeof agent === 'string' ? agent : event.by
}

export function placeOf(event: RelayEvent): string | undefined {
  if (event.message) return conversationOf(event.message)
  const { conversation, channel } = fieldsOf(event)
  const place = conversation ?? channel
  return typeof place === 'string' ? place : undefined
}
