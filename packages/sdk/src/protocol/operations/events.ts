// Operations on events: facts as watchers see them.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { Message } from '../words.ts'
import type { OperationTable } from './rule.ts'

const eventFilter = z.object({
  since: z.number().int().min(0).optional(),
  types: z.array(z.string().max(80)).max(50).optional(),
})

/** One fact as a watcher sees it; a `message.created` carries the whole message, body included. */
export const RelayEvent = z.object({
  seq: z.number(),
  ts: z.string(),
  by: z.string(),
  type: z.string(),
  fact: z.record(z.string(), z.unknown()),
  message: Message.optional(),
})
export type RelayEvent = z.infer<typeof RelayEvent>

export const eventOperations = {
  'event.list': {
    kind: 'query',
    who: 'anyone',
    summary: 'Events after a number, oldest first: those of your own conversations, or all for the key holder.',
    input: eventFilter.extend({ limit: z.number().int().min(1).max(limits.eventsPageMax).optional() }),
    output: z.object({ events: z.array(RelayEvent), next: z.number() }),
  },
  'event.follow': {
    kind: 'watch',
    who: 'anyone',
    summary: 'Send each event after a number (default: from now), without a gap (EVENT).',
    input: eventFilter,
    output: RelayEvent,
  },
} satisfies OperationTable
