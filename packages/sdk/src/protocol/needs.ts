// Needs, the things that wait for a person, as a schema and a type. No behaviour.

import { z } from 'zod'
import { Message } from './words.ts'

/** The kinds of needs, in the order of their urgency. */
export const needKinds = ['approval', 'blocked', 'question', 'failed', 'mention'] as const

/** A need: one thing that waits for the calling person, until it is answered, ends by itself or is dismissed. */
export const Need = z.object({
  /** The id of the need, the same in every list and every session of the person. */
  key: z.string(),
  kind: z.enum(needKinds),
  /** The agent that waits, that wrote the message, or whose program ended. */
  who: z.string(),
  /** The first line of a message, what an approval asks for, or why a worker is blocked or failed. */
  text: z.string(),
  /** When the need began; if it consists of several messages, the time of the first. */
  since: z.string(),
  /** The message that needs an answer; if several messages of a conversation are one need, the newest of them. */
  message: Message.optional(),
  /** The number of messages in the need. Unset unless several messages are one need. */
  count: z.number().optional(),
  /** The id of the approval. Unset for other kinds of needs. */
  approval: z.string().optional(),
  /** The id of the worker that is blocked or has failed. Unset for other kinds of needs, and for a run without a worker. */
  worker: z.string().optional(),
  /** The id of the run that cannot go on because its worker is blocked, or that has failed. */
  run: z.string().optional(),
  /** The first line of what the failed worker or run had to do. */
  task: z.string().optional(),
  /** Set if the task or contract can be given again: by `worker.retry`, or for a need with `run` by `run.start` with `again`. */
  canRetry: z.literal(true).optional(),
  /** Set if `worker.retry` can also let the failed worker go on with its conversation. */
  canContinue: z.literal(true).optional(),
  /** Why `worker.retry` can give the failed worker its task only from the beginning. */
  noContinue: z.string().optional(),
})
export type Need = z.infer<typeof Need>
