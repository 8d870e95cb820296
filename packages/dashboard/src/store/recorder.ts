// The journal in windows: the events around a number, those before and after it, and the number that a time has.

import type { RelayEvent } from '@agent-relay/sdk/browser'
import { partiesOf, placeOf } from '../parts/event-text.ts'
import { client } from './connection.ts'

export interface Filter {
  agent: string
  conversation: string
  /** A family of facts: `message.*`. */
  types: string
}

const pageEntries = 400
/** A filter that lets little through looks this many pages far, not to the end of the journal. */
const pagesMax = 12

/** Events in order, from `since` on (exclusive); `next` is where to go on, undefined at the journal's end. */
export async function eventsAfter(
  since: number,
  filter: Filter,
  wanted: number,
): Promise<{ events: RelayEvent[]; next?: number }> {
  const found: RelayEvent[] = []
  const types = filter.types === '' ? undefined : [filter.types]
  let at = Math.max(0, since)
  for (let pages = 0; pages < pagesMax && found.length < wanted; pages++) {
    const { events, next } = await client.call('event.list', { since: at, types, limit: pageEntries })
    found.push(...events.filter((event) => isOf(event, filter)))
    if (next === at) return { events: found }
    at = next
  }
  return { events: found, next: at }
}

/** As many as there are up to `seq` (inclusive), newest kept. */
export async function eventsUpTo(seq: number, filter: Filter, wanted: number): Promise<RelayEvent[]> {
  let found: RelayEvent[] = []
  let high = seq
  for (let pages = 0; pages < pagesMax && found.length < wanted && high > 0; pages++) {
    const low = Math.max(0, high - pageEntries)
    const page: RelayEvent[] = []
    for (let at = low; at < high; ) {
      const types = filter.types === '' ? undefined : [filter.types]
      const { events, next } = await client.call('event.list', { since: at, types, limit: pageEntries })
      page.push(...events.filter((event) => event.seq <= high && isOf(event, filter)))
      if (next === at) break
      at = next
    }
    found = [...page, ...found]
    high = low
  }
  return found.slice(-wanted)
}

/** The last entry that was written at or before a time: halving, since numbers and times rise together. */
export async function seqAt(time: number, last: number): Promise<number> {
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

export function isOf(event: RelayEvent, { agent, conversation }: Filter): boolean {
  if (agent !== '' && !partiesOf(event).includes(agent)) return false
  if (conversation === '') return true
  const place = placeOf(event)
  return place === undefined ? false : place === conversation
}

export interface Causes {
  /** What it answered, the first cause first. */
  answered: { id: string; seq: number; text: string }[]
  /** What came of it, in order. */
  after: RelayEvent[]
}

const [answeredMax, thenEntries] = [12, 1_000]

/** The chain around one message: up along what it answers, down along who was told, what they called, and what came back. */
export async function causesOf(message: {
  id: string
  seq: number
  replyTo?: string
  to: string | string[]
}): Promise<Causes> {
  const answered: Causes['answered'] = []
  for (let id = message.replyTo; id !== undefined && answered.length < answeredMax; ) {
    const around = id
    const page = await client.call('message.list', { around, limit: 1 }).catch(() => undefined)
    const found = page?.messages.find((each) => each.id === around)
    if (!found) break
    answered.unshift({ id: found.id, seq: found.seq, text: `${found.from}: ${found.body.slice(0, 160)}` })
    id = found.replyTo
  }
  const { events } = await client.call('event.list', { since: message.seq - 1, limit: thenEntries })
  return { answered, after: consequencesOf(message.id, events) }
}

function consequencesOf(id: string, events: readonly RelayEvent[]): RelayEvent[] {
  /** Who has read it and not answered yet: what they call meanwhile is on its account. */
  const readers = new Set<string>()
  const calls = new Set<string>()
  return events.filter(({ type, fact, message }) => {
    if (type === 'delivery.read' && fact.message === id) readers.add(String(fact.agent))
    if (/^(delivery|reaction)\./.test(type)) return fact.message === id
    if (type === 'action.invoked' && readers.has(String(fact.caller))) calls.add(String(fact.id))
    if (type.startsWith('action.')) return calls.has(String(fact.id))
    if (!message || (message.replyTo !== id && message.thread !== id)) return false
    readers.delete(message.from)
    return true
  })
}
