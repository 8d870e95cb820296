// Approvals and delegations, as schemas and types without behaviour. An approval is an agent's question that only a person may answer, or an agent to which
// that right was delegated.

import { z } from 'zod'
import { AgentName } from './words.ts'

/**
 * One choice of an approval. allow: allowed this once. always: allowed for this session of the agent. deny: not allowed. other: only `label` says what choosing
 * it does.
 */
export const ApprovalChoice = z.object({
  id: z.string().min(1).max(100),
  kind: z.enum(['allow', 'always', 'deny', 'other']),
  label: z.string().max(200).optional(),
})
export type ApprovalChoice = z.infer<typeof ApprovalChoice>

/** A question of an agent with its options. An answer chooses one option (or several, if `isMany` is set), or is a text of its own. */
export const Question = z.object({
  text: z.string().min(1).max(2_000),
  options: z
    .array(z.object({ label: z.string().min(1).max(200), text: z.string().max(2_000).optional() }))
    .min(1)
    .max(20),
  isMany: z.boolean().optional(),
})
export type Question = z.infer<typeof Question>
/** Maximum number of questions in one approval. */
export const questionsMax = 10

/**
 * How an approval was closed. answered: somebody chose an answer on the page or with the command line. terminal: somebody answered at the agent's own terminal.
 * timeout and cancelled: the agent's CLI gave up asking. gone: the program that asked has ended. restart: the daemon ended while the approval was open.
 */
export const approvalHows = ['answered', 'terminal', 'timeout', 'cancelled', 'gone', 'restart'] as const
export type ApprovalHow = (typeof approvalHows)[number]

/** An approval: something that an agent may not do until a person, or an agent with a delegation, says yes. */
export const Approval = z.object({
  id: z.string(),
  agent: z.string(),
  /** The CLI that asks: `claude`, `codex`, … */
  vendor: z.string(),
  tool: z.string(),
  /** What the agent is about to do, as text without hidden characters. A long text is cut. */
  input: z.string(),
  /**
   * What `input` leaves out of the request: the number of characters and of lines that are not shown. If `chars` is 0, `input` is complete, but contains
   * characters that cannot be displayed.
   */
  hidden: z
    .object({ chars: z.number().int().nonnegative(), lines: z.number().int().nonnegative().optional() })
    .optional(),
  directory: z.string().optional(),
  /**
   * The machine on which the agent waits, in a workspace that several machines share. `directory` is a path on that machine, and an answer takes effect only
   * once that machine has it.
   */
  machine: z.string().optional(),
  /** The possible answers; empty if the approval can only be answered at the agent's terminal. */
  choices: z.array(ApprovalChoice),
  /** The questions, if the agent asks for answers instead of a yes or no. */
  questions: z.array(Question).optional(),
  since: z.string(),
  /** The digest of the request that the person was shown. An answer repeats the digest, so that it holds for this request only. */
  digest: z.string(),
})
export type Approval = z.infer<typeof Approval>

/** A delegation: the right of one agent to answer approvals of its own workers, for a limited time. */
export const Delegation = z.object({
  agent: AgentName,
  /** The worker for whose approvals the delegation holds, or `*` for all workers of the agent. */
  for: z.union([z.literal('*'), AgentName]),
  /** The names of the tools that the agent may approve; `*` stands for all. */
  tools: z.array(z.string().min(1).max(200)).min(1).max(100),
  /** A pattern for the tool's whole input, in which `*` stands for any text without characters that are special to a shell. Unset: any input. */
  pattern: z.string().min(1).max(1_000).optional(),
  /** The time at which the delegation ends, in ms since 1970. */
  until: z.number().int().positive(),
})
export type Delegation = z.infer<typeof Delegation>
