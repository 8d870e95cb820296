// Needs, the things that wait for a person, as a schema and a type. No behaviour.

import { z } from 'zod'
import { Message } from './words.ts'

/** The kinds of needs, in the order of their urgency. */
export const needKinds = ['approval', 'blocked', 'question', 'failed', 'mention'] as const

/** A need: one thing that waits for the person who asks, until the person answers it, it ends by itself or the person dismisses it. */
export const Need = z.object({
  /** The id of the need, the same in every list and every session of the person. */
  key: z.string(),
  kind: z.enum(needKinds),
  /** The agent that waits, that wrote the message, or whose worker or run has failed. */
  who: z.string(),
  /** The first line of the message, or what the approval asks for, or why the worker or run is blocked or has failed. */
  text: z.string(),
  /** The time at which the need began. If it consists of several messages, the time of the first. */
  since: z.string(),
  /** The message that needs an answer. If several messages of a conversation are one need, the newest of them. */
  message: Message.optional(),
  /** The number of messages in the need. Unset if it is one message or none. */
  count: z.number().optional(),
  /** The id of the approval. Unset for other kinds of needs. */
  approval: z.string().optional(),
  /** The id of the worker that is blocked or has failed. Unset for other kinds of needs, and for a run without a worker. */
  worker: z.string().optional(),
  /** The id of the run that has failed, or that is blocked together with its worker. Unset for other needs. */
  run: z.string().optional(),
  /** The first line of what the failed worker or run had to do. */
  task: z.string().optional(),
  /** Set if a failed worker or run can be repeated: a worker by `worker.retry`, a run (`run` is set) by `run.start` with `again`. */
  canRetry: z.literal(true).optional(),
  /** Set if `worker.retry` with `continue` can resume the failed worker's conversation with its model. */
  canContinue: z.literal(true).optional(),
  /** Why `worker.retry` cannot resume the conversation of the failed worker, but only begin the task again. */
  noContinue: z.string().optional(),
})
export type Need = z.infer<typeof Need>
