// The tools about events: list_events and subscribe_events.

import { RelayError } from '@agent-relay/sdk'
import { listEvents } from '@agent-relay/sdk/internal/client'
import { unknownTypesText } from '@agent-relay/sdk/internal/event-text'
import type { OutputOf, RelayEvent } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { defineEnvelopeTool } from '../tool.ts'

const eventsBytesMax = 24 * 1024

export const listEventsTool = defineEnvelopeTool({
  name: 'list_events',
  title: 'List events',
  description:
    'Events you may see, oldest first: the newest, or those after a cursor. Go on with since=next, further back with before=earlier.',
  input: z.object({
    since: z.number().int().min(0).optional().describe('A cursor; default: the newest'),
    before: z.number().int().min(1).optional(),
    types: z.array(z.string()).max(50).optional().describe('e.g. message.created, action.*'),
    limit: z.number().int().min(1).max(200).optional().default(50),
  }),
  hints: { readOnly: true, idempotent: true },
  run: async (client, input) => {
    checkEventTypes(input.types)
    return fitPage(await listEvents(client, input), input.since !== undefined)
  },
})

/** Refuses unknown types: a misspelled one would never match. */
function checkEventTypes(types: readonly string[] | undefined): void {
  const strange = unknownTypesText(types)
  if (strange !== undefined) throw new RelayError(strange, { code: 'input.invalid' })
}

/**
 * Returns the part of a page that fits into an answer. Cuts between journal entries, since events of one entry belong together, and at the end where
 * the next call continues.
 */
function fitPage(page: OutputOf<'event.list'>, isUpward: boolean): OutputOf<'event.list'> {
  const entries = new Map<number, RelayEvent[]>()
  for (const event of page.events) entries.set(event.seq, [...(entries.get(event.seq) ?? []), event])
  const numbers = [...entries.keys()]
  const kept: number[] = []
  let bytes = 0
  for (const seq of isUpward ? numbers : [...numbers].reverse()) {
    bytes += JSON.stringify(entries.get(seq)).length
    if (bytes > eventsBytesMax && kept.length > 0) break
    kept.push(seq)
  }
  if (kept.length === numbers.length) return page
  const events = numbers.filter((seq) => kept.includes(seq)).flatMap((seq) => entries.get(seq) ?? [])
  const last = kept[kept.length - 1] as number
  return isUpward ? { ...page, events, next: last, more: true } : { ...page, events, earlier: last }
}

/** The default types of subscribe_events: those that concern an agent. Other types, such as the creation of channels, must be requested by name. */
const eventTypesDefault = ['message.created', 'delivery.*', 'action.*', 'session.event']

export const subscribeEventsTool = defineEnvelopeTool({
  name: 'subscribe_events',
  title: 'Subscribe to events',
  description: `Have events pushed to your host. It shows you none? Call list_events. Default types: ${eventTypesDefault.join(', ')}. An empty list ends it.`,
  input: z.object({
    types: z.array(z.string()).max(50).optional(),
    since: z.number().int().min(0).optional().describe('A cursor; default: from now'),
  }),
  hints: { idempotent: true },
  run: async (client, { types = eventTypesDefault, since }) => {
    checkEventTypes(types)
    const { seq } = await client.call('workspace.status', {})
    const cursor = since ?? seq
    const pushed = await client.sessionServices.subscribe({ types, since: cursor })
    if (types.length === 0) return { pushed: false, cursor }
    const note = pushed
      ? `Events come as notifications/relay/event. Your host shows you none? Call list_events with since=${cursor}.`
      : `This host cannot be pushed to. Call list_events with since=${cursor} instead.`
    return { pushed, cursor, note }
  },
})
