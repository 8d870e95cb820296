// This file says what an approval and a delegation are, as schemas and types. It has no behaviour.

import { z } from 'zod'
import { AgentName } from './words.ts'

/** allow: this once. always: for this session of the agent. deny: no. other: something that only its label tells. */
export const ApprovalChoice = z.object({
  id: z.string().min(1).max(100),
  kind: z.enum(['allow', 'always', 'deny', 'other']),
  label: z.string().max(200).optional(),
})
export type ApprovalChoice = z.infer<typeof ApprovalChoice>

/** One question with its options. Whoever answers takes one of them, several where it says so, or writes an answer of their own. */
export const Question = z.object({
  text: z.string().min(1).max(2_000),
  options: z
    .array(z.object({ label: z.string().min(1).max(200), text: z.string().max(2_000).optional() }))
    .min(1)
    .max(20),
  isMany: z.boolean().optional(),
})
export type Question = z.infer<typeof Question>
/** Of one choice. */
export const questionsMax = 10

/**
 * How one was closed. answered: from the queue. terminal: at the agent's own terminal. timeout and cancelled: its CLI gave it up. gone: what
 * asked is not there any more. restart: the daemon ended while it was open.
 */
export const approvalHows = ['answered', 'terminal', 'timeout', 'cancelled', 'gone', 'restart'] as const
export type ApprovalHow = (typeof approvalHows)[number]

/** One thing that an agent may not do until somebody with authority says yes. */
export const Approval = z.object({
  id: z.string(),
  agent: z.string(),
  /** The CLI that asks: `claude`, `codex`, … */
  vendor: z.string(),
  tool: z.string(),
  /** What it is about to do, cleaned, and cut where it is long. */
  input: z.string(),
  /** The input is not all of what was asked. `chars`, `lines`: so many more of them are not shown; no `chars`: it holds some that cannot be shown. */
  hidden: z
    .object({ chars: z.number().int().nonnegative(), lines: z.number().int().nonnegative().optional() })
    .optional(),
  directory: z.string().optional(),
  /** Where it waits, in a workspace that several machines share: its directory is there, and only that machine can let it go on. */
  machine: z.string().optional(),
  /** Empty, where it can only be answered at the terminal. */
  choices: z.array(ApprovalChoice),
  /** Set where it is a choice: not a yes is asked for, but an answer to each of these. */
  questions: z.array(Question).optional(),
  since: z.string(),
  /** An answer names it, so that it fits what was shown and nothing else. */
  digest: z.string(),
})
export type Approval = z.infer<typeof Approval>

/** A right of one agent to answer approvals of its own workers, for some time. */
export const Delegation = z.object({
  agent: AgentName,
  /** A worker of that agent, or `*` for each of them. */
  for: z.union([z.literal('*'), AgentName]),
  /** The names of tools; `*` stands for all. */
  tools: z.array(z.string().min(1).max(200)).min(1).max(100),
  /** The input as a whole, with `*` for anything but what a shell gives a meaning of its own. Without one, any input. */
  pattern: z.string().min(1).max(1_000).optional(),
  /** In milliseconds since 1970. */
  until: z.number().int().positive(),
})
export type Delegation = z.infer<typeof Delegation>
