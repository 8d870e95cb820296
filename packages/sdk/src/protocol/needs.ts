// Needs, the things that wait for a person, as a schema and a type. No behaviour.

import { z } from 'zod'
import { Message } from './words.ts'

/** The kinds of needs, in the order of their urgency. */
export const needKinds = ['approval', 'blocked', 'question', 'failed', 'mention'] as const

/** One thing that waits for the caller: until it is answered, is over by itself, or was dismissed. */
export const Need = z.object({
  /** The id of the need, the same in every list and in every session of the same person. */
  key: z.string(),
  kind: z.enum(needKinds),
  /** The agent that waits, has written or has ended. */
  who: z.string(),
  /** The first line of a message, the wish of an approval, or the reason of a worker. */
  text: z.string(),
  /** The beginning of the need; of several messages, the time of the first. */
  since: z.string(),
  /** The message, or the newest of several in a conversation that are one need. */
  message: Message.optional(),
  /** The number of messages, where several are one need. */
  count: z.number().optional(),
  /** The id of the approval. */
  approval: z.string().optional(),
  /** The id of the worker that is blocked or has failed. */
  worker: z.string().optional(),
  /** The run that a blocked worker holds up. */
  run: z.string().optional(),
  /** The worker can be given its task again: `worker.retry`. */
  canRetry: z.literal(true).optional(),
})
export type Need = z.infer<typeof Need>
