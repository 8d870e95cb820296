// list_events: what happened after a cursor, oldest first, as much as one answer may hold.

import type { RelayEvent } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { workspaceTool } from './tool.ts'

/** The structured answer; its text is far shorter. */
const eventsBytesMax = 24 * 1024
const bodyCharsShown = 200

export const listEventsTool = workspaceTool({
  name: 'list_events',
  title: 'List events',
  description: 'Events you may see after a cursor, oldest first. Go on with since=next.',
  input: z.object({
    since: z.number().int().min(0).optional().default(0),
    types: z.array(z.string()).max(50).optional().describe('e.g. message.created, action.*'),
    limit: z.number().int().min(1).max(200).optional().default(50),
  }),
  output: {
    events: z.array(z.looseObject({ seq: z.number(), ts: z.string(), by: z.string(), type: z.string() })),
    next: z.number(),
  },
  hints: { readOnly: true, idempotent: true },
  run: async (client, input) => {
    const page = await client.call('event.list', input)
    const { events, next } = fitting(page.events, page.next)
    const lines = events.map(lineOf)
    return { text: [`${events.length} event(s). Go on with since=${next}.`, ...lines].join('\n'), events, next }
  },
})

/** Ends between two numbers: events of one entry belong together, and `next` names an entry. */
function fitting(all: RelayEvent[], end: number): { events: RelayEvent[]; next: number } {
  let bytes = 0
  for (let at = 0; at < all.length; at++) {
    const event = all[at] as RelayEvent
    bytes += JSON.stringify(event).length
    const first = all.findIndex(({ seq }) => seq === event.seq)
    if (bytes > eventsBytesMax && first > 0) return { events: all.slice(0, first), next: all[first - 1]?.seq as number }
  }
  return { events: all, next: end }
}

/** As JSON, so that nothing in it can begin a line. */
function lineOf({ seq, by, type, message }: RelayEvent): string {
  const body = message ? ` [${message.id}] ${JSON.stringify(message.body.slice(0, bodyCharsShown))}` : ''
  return `${seq} ${type} by ${by}${body}`
}
