// Operations on events: facts as watchers see them.

import { z } from 'zod'
import type { RelayEvent } from '../events.ts'
import { limits } from '../limits.ts'
import { Message } from '../words.ts'
import type { OperationTable } from './rule.ts'

const eventFilter = z.object({
  since: z.number().int().min(0).optional(),
  types: z.array(z.string().max(80)).max(50).optional(),
})

/** The fields of every event. The content of `fact` for each `type` is a matter of types alone: see events.ts. */
const event = z.object({
  seq: z.number(),
  ts: z.string(),
  by: z.string(),
  type: z.string(),
  fact: z.record(z.string(), z.unknown()),
  message: Message.optional(),
}) as unknown as z.ZodType<RelayEvent>

export const eventOperations = {
  'event.list': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary:
      'A page of events, oldest first: the newest, or those after a number. Those of your own conversations, or all for the key holder.',
    input: eventFilter.extend({
      /** Only events with a lower number. */
      before: z.number().int().min(1).optional(),
      limit: z.number().int().min(1).max(limits.eventsPageMax).optional(),
    }),
    output: z.object({
      events: z.array(event),
      /** The number to go on from, as `since: next`: nothing is left out, nothing comes twice. */
      next: z.number(),
      /** The journal goes on after `next`: a page may be short, or empty, because it was full or took long. */
      more: z.boolean(),
      /** The number to go further back from, as `before: earlier`, in a page without `since`. Nothing lies further back, if it is missing. */
      earlier: z.number().optional(),
      /** The number up to which the journal was pruned, where the page begins before it: events that were over by then are not in the journal any more. */
      pruned: z.number().optional(),
    }),
  },
  'event.follow': {
    kind: 'watch',
    who: 'anyone',
    network: 'open',
    summary:
      'Send each event after a number (default: from now), without a gap (EVENT). `newest`, for a screen and with the key: at most this many ten times a second, the newest; the others are counted in an event `events.skipped`. The type `session.event` tells who connects to this daemon and who leaves it; it is in no journal, has the number 0, must be asked for and comes from then on: after a lost link ask `agent.list`.',
    input: eventFilter.extend({ newest: z.number().int().min(1).max(limits.eventsPageMax).optional() }),
    output: event,
  },
} satisfies OperationTable
