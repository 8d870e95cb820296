// Operations on events, the facts of the journal as watchers see them.

import { z } from 'zod'
import type { RelayEvent } from '../events.ts'
import { limits } from '../limits.ts'
import { Message } from '../words.ts'
import type { OperationTable } from './rule.ts'

const eventFilter = z.object({
  since: z.number().int().min(0).optional(),
  types: z.array(z.string().max(80)).max(50).optional(),
})

/** The fields of every event. The content of `fact` depends on `type`, and is described only by the TypeScript types in protocol/events.ts. */
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
      /** Only events whose number (`seq`) is lower. */
      before: z.number().int().min(1).optional(),
      limit: z.number().int().min(1).max(limits.eventsPageMax).optional(),
    }),
    output: z.object({
      events: z.array(event),
      /** The number to continue from: pass it as `since` to get the events after this page, without a gap or a repeat. */
      next: z.number(),
      /** Whether the journal has more entries after `next`. A page may have few or no events although more follow, because it was full or took too long. */
      more: z.boolean(),
      /** For a page without `since`: the number to pass as `before`, to get the page before this one. Unset if there are no earlier events. */
      earlier: z.number().optional(),
      /** The number of the journal entry up to which finished events were deleted (pruned). Set if the page begins before that entry. */
      pruned: z.number().optional(),
    }),
  },
  'event.follow': {
    kind: 'watch',
    who: 'anyone',
    network: 'open',
    summary:
      'Send each event after a number (default: from now), without a gap (EVENT). With `newest` (needs the key): ten batches a second, each with at most this many of the newest entries; an event `events.skipped` counts the others. The type `session.event` tells which agents connect to this daemon or leave it. It is sent only if `types` names it, and only from then on; it is not in the journal, and its number is 0. After a lost connection, ask `agent.list` instead.',
    input: eventFilter.extend({ newest: z.number().int().min(1).max(limits.eventsPageMax).optional() }),
    output: event,
  },
} satisfies OperationTable
