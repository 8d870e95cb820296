// Approvals and delegations, as schemas and types. No behaviour.

import { z } from 'zod'
import { AgentName } from './words.ts'

/** One choice of an approval. allow: this once. always: for this session of the agent. deny: no. other: something that only its label tells. */
export const ApprovalChoice = z.object({
  id: z.string().min(1).max(100),
  kind: z.enum(['allow', 'always', 'deny', 'other']),
  label: z.string().max(200).optional(),
})
export type ApprovalChoice = z.infer<typeof ApprovalChoice>

/** One question with its options. An answer takes one of them, or several where `isMany` is set, or is in words of its own. */
export const Question = z.object({
  text: z.string().min(1).max(2_000),
  options: z
    .array(z.object({ label: z.string().min(1).max(200), text: z.string().max(2_000).optional() }))
    .min(1)
    .max(20),
  isMany: z.boolean().optional(),
})
export type Question = z.infer<typeof Question>
/** The most questions of one choice. */
export const questionsMax = 10

/**
 * How an approval was closed. answered: from the queue. terminal: at the agent's own terminal. timeout and cancelled: the agent's CLI gave it up. gone: the
 * program that asked is not there any more. restart: the daemon ended while the approval was open.
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
  /** The text of what the agent is about to do, cleaned, and cut where it is long. */
  input: z.string(),
  /** The part of the request that `input` leaves out. `chars`, `lines`: so many more are not shown; no `chars`: some characters cannot be shown. */
  hidden: z
    .object({ chars: z.number().int().nonnegative(), lines: z.number().int().nonnegative().optional() })
    .optional(),
  directory: z.string().optional(),
  /** The machine where the agent waits, in a workspace that several machines share: its directory is there, and only that machine can let it go on. */
  machine: z.string().optional(),
  /** The possible answers; empty where the approval can only be answered at the terminal. */
  choices: z.array(ApprovalChoice),
  /** The questions of a choice, which asks for an answer to each of them and not for a yes. */
  questions: z.array(Question).optional(),
  since: z.string(),
  /** The digest of what was shown. An answer names it, so that it fits that and nothing else. */
  digest: z.string(),
})
export type Approval = z.infer<typeof Approval>

/** A right of one agent to answer approvals of its own workers, for some time. */
export const Delegation = z.object({
  agent: AgentName,
  /** A worker of that agent, or `*` for each of them. */
  for: z.union([z.literal('*'), AgentName]),
  /** Names of tools; `*` stands for all. */
  tools: z.array(z.string().min(1).max(200)).min(1).max(100),
  /** A pattern for the whole input, with `*` for anything but what a shell gives a meaning of its own. Without a pattern, any input. */
  pattern: z.string().min(1).max(1_000).optional(),
  /** The end of the delegation, in milliseconds since 1970. */
  until: z.number().int().positive(),
})
export type Delegation = z.infer<typeof Delegation>
