// What needs a person, as a schema and a type. No behaviour.

import { z } from 'zod'
import { Message } from './words.ts'

/** In the order of their urgency. */
export const needKinds = ['approval', 'blocked', 'question', 'failed', 'mention'] as const

/** One thing that waits for who asks: until it is answered, is over by itself, or was dismissed. */
export const Need = z.object({
  /** The same in every list, and in every session of the same person. */
  key: z.string(),
  kind: z.enum(needKinds),
  /** The agent that waits, has written or has ended. */
  who: z.string(),
  /** Of a message its first line; of an approval what is wanted; of a worker why. */
  text: z.string(),
  /** Of several messages, since the first. */
  since: z.string(),
  /** The newest, where several messages of a conversation are one need. */
  message: Message.optional(),
  /** How many they are. */
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
