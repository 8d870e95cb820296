// Which agents an event concerns, and which conversation. The text of an event is made in parts/event-text.ts.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { conversationOf } from './conversations.ts'

/** Returns the fields of an event's fact, also for an event type that only a newer daemon knows. */
export function factFields({ fact }: Pick<RelayEvent, 'fact'>): Record<string, unknown> {
  return fact
}

/** Returns a key that is unique among all events: the number alone is not, since all facts of one journal entry share its number. */
export function eventKey(event: RelayEvent): string {
  const { id, message, agent, channel, conversation, name, path } = factFields(event)
  const own = [id, message, agent, channel, conversation, name, path]
  return [event.seq, event.type, ...own.filter((part) => typeof part === 'string')].join(' ')
}

/** Lists all agents that an event is about, first the agent that caused it. */
export function agentsOfEvent(event: RelayEvent): string[] {
  const { agent, worker, caller, provider, parent } = factFields(event)
  const named = [agent, worker, caller, provider, parent].filter((name) => typeof name === 'string')
  const to = event.message ? [event.message.to].flat() : []
  return [...new Set([event.by, ...named, ...to.filter((name) => !/^[#*]/.test(name))])]
}

/** The agent in whose lane of the timeline the event stands; the daemon, for an event that no agent caused. */
export function eventAuthor(event: RelayEvent): string {
  if (event.message) return event.message.from
  const { agent } = factFields(event)
  return event.type.startsWith('delivery.') && typeof agent === 'string' ? agent : event.by
}

export function eventConversation(event: RelayEvent): string | undefined {
  if (event.message) return conversationOf(event.message)
  const { conversation, channel } = factFields(event)
  const place = conversation ?? channel
  return typeof place === 'string' ? place : undefined
}
