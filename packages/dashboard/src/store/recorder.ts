// Reads the journal in windows: the events before or after a journal number, the events at a number, and the number that belongs to a time.

import { mainEventTypes } from '@agent-relay/sdk/internal/event-text'
import type { Message, OutputOf, RelayEvent } from '@agent-relay/sdk/internal/page'
import { agentsOfEvent, eventConversation, factFields } from './concerns.ts'
import { client } from './connection.ts'
import { openedRecording } from './recording.ts'

export interface Filter {
  agent: string
  conversation: string
  /** A family of event types, such as `message.*`. Empty: all types but those of minor events, such as deliveries. `*`: all types. */
  types: string
}

const shownTypes = mainEventTypes()

function typesOf({ types }: Filter): string[] | undefined {
  return types === '*' ? undefined : types === '' ? shownTypes : [types]
}

/** All events of the opened recording file that pass the filter. */
function inRecording(filter: Filter): RelayEvent[] {
  const types = typesOf(filter)
  const isWanted = ({ type }: RelayEvent): boolean =>
    types?.some((each) => (each.endsWith('*') ? type.startsWith(each.slice(0, -1)) : type === each)) ?? true
  return (openedRecording.value?.events ?? []).filter((event) => isWanted(event) && matchesFilter(event, filter))
}

const pageEntries = 400
/** How many pages a search reads at most, for a filter that few events pass. */
const searchedPagesMax = 12

/** Returns events in order, those after the number `since`. `next` is the number to continue from; undefined at the journal's end. */
export async function eventsAfter(
  since: number,
  filter: Filter,
  wanted: number,
): Promise<{ events: RelayEvent[]; next?: number }> {
  if (openedRecording.value) {
    const later = inRecording(filter).filter(({ seq }) => seq > since)
    const events = later.slice(0, wanted)
    return { events, next: later.length > wanted ? events.at(-1)?.seq : undefined }
  }
  const found: RelayEvent[] = []
  const types = typesOf(filter)
  let at = Math.max(0, since)
  for (let pages = 0; pages < searchedPagesMax && found.length < wanted; pages++) {
    const { events, next, more } = await client.call('event.list', { since: at, types, limit: pageEntries })
    found.push(...events.filter((event) => matchesFilter(event, filter)))
    if (!more) return { events: found }
    at = next
  }
  return { events: found, next: at }
}

/** Returns the newest events up to and including the number `seq`, at most `wanted`. */
export async function eventsUpTo(seq: number, filter: Filter, wanted: number): Promise<RelayEvent[]> {
  if (openedRecording.value)
    return inRecording(filter)
      .filter((event) => event.seq <= seq)
      .slice(-wanted)
  let found: RelayEvent[] = []
  const types = typesOf(filter)
  let before: number | undefined = seq + 1
  for (let pages = 0; pages < searchedPagesMax && found.length < wanted && before !== undefined; pages++) {
    const page: OutputOf<'event.list'> = await client.call('event.list', { before, types, limit: pageEntries })
    found = [...page.events.filter((event) => matchesFilter(event, filter)), ...found]
    before = page.earlier
  }
  return found.slice(-wanted)
}

/** Returns all events of the journal entry that the page's address names, whatever the filter leaves out. */
export async function eventsAt(seq: number): Promise<RelayEvent[]> {
  if (openedRecording.value) return openedRecording.value.events.filter((event) => event.seq === seq)
  const { events } = await client.call('event.list', { since: seq - 1, limit: 1 })
  return events.filter((event) => event.seq === seq)
}

/**
 * Finds, by binary search, the last entry written at or before a time. If the clock was set back, a time has several places in the journal; this returns one of
 * them.
 */
export async function seqAt(time: number, last: number): Promise<number> {
  if (openedRecording.value) return openedRecording.value.events.findLast(({ ts }) => Date.parse(ts) <= time)?.seq ?? 0
  let [low, high] = [0, last]
  while (low < high) {
    const middle = Math.floor((low + high + 1) / 2)
    const { events } = await client.call('event.list', { since: middle - 1, limit: 1 })
    const at = events[0] ? Date.parse(events[0].ts) : Number.POSITIVE_INFINITY
    if (at <= time) low = middle
    else high = middle - 1
  }
  return low
}

export function matchesFilter(event: RelayEvent, { agent, conversation }: Filter): boolean {
  if (agent !== '' && !agentsOfEvent(event).includes(agent)) return false
  if (conversation === '') return true
  const place = eventConversation(event)
  return place === undefined ? false : place === conversation
}

export interface MessageCauses {
  /** The messages that led to this message, each the answer to the one before, oldest first. */
  answered: Message[]
  /** What the message led to, in order. */
  after: RelayEvent[]
}

const [answeredMax, thenEntries] = [12, 1_000]

/**
 * Finds the chain of causes around one message: backwards along the messages that it answers, forwards along its deliveries, the actions called because of it,
 * and the replies.
 */
export async function findMessageCauses(message: Message): Promise<MessageCauses> {
  if (openedRecording.value) return causesIn(openedRecording.value.events, message)
  const answered: MessageCauses['answered'] = []
  for (let id = message.replyTo; id !== undefined && answered.length < answeredMax; ) {
    const around = id
    const page = await client.call('message.list', { around, limit: 1 }).catch(() => undefined)
    const found = page?.messages.find((each) => each.id === around)
    if (!found) break
    answered.unshift(found)
    id = found.replyTo
  }
  const { events } = await client.call('event.list', { since: message.seq - 1, limit: thenEntries })
  return { answered, after: consequencesOf(message.id, events) }
}

function causesIn(events: readonly RelayEvent[], message: Message): MessageCauses {
  const byId = new Map(events.flatMap(({ message: each }) => (each ? [[each.id, each] as const] : [])))
  const answered: MessageCauses['answered'] = []
  for (let at = byId.get(message.replyTo ?? ''); at && answered.length < answeredMax; at = byId.get(at.replyTo ?? ''))
    answered.unshift(at)
  const later = events.filter(({ seq }) => seq >= message.seq).slice(0, thenEntries)
  return { answered, after: consequencesOf(message.id, later) }
}

function consequencesOf(id: string, events: readonly RelayEvent[]): RelayEvent[] {
  /** Agents that have read the message and not answered yet: an action that they call meanwhile counts as a consequence of the message. */
  const readers = new Set<unknown>()
  const calls = new Set<unknown>()
  return events.filter((event) => {
    const [{ type, message }, fact] = [event, factFields(event)]
    if (type === 'delivery.read' && fact.message === id) readers.add(fact.agent)
    if (/^(delivery|reaction)\./.test(type)) return fact.message === id
    if (type === 'action.invoked' && readers.has(fact.caller)) calls.add(fact.id)
    if (type.startsWith('action.')) return calls.has(fact.id)
    if (!message || (message.replyTo !== id && message.thread !== id)) return false
    readers.delete(message.from)
    return true
  })
}
