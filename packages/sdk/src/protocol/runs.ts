// Runs, as schemas and types without behaviour: what can carry out a run, and a run as its readers see it.

import { z } from 'zod'
import { runHarnesses } from '../internal/clis.ts'
import { Spend } from './spend.ts'

export const HarnessName = z.enum(runHarnesses)
export type HarnessName = z.infer<typeof HarnessName>
export const runStatuses = ['ready', 'running', 'stopped', 'completed'] as const
export const RunState = z.enum(runStatuses)
export type RunState = z.infer<typeof RunState>

/** A run: a contract (a text that says what to do) given to an agent. */
export const Run = z.object({
  id: z.string(),
  /** The agent that carries the run out. */
  agent: z.string(),
  /** The agent that asked for the run. */
  parent: z.string(),
  harness: z.string(),
  model: z.string().optional(),
  status: RunState,
  startedAt: z.string(),
  completedAt: z.string().optional(),
  stoppedAt: z.string().optional(),
  stopReason: z.string().optional(),
  summary: z.string().optional(),
  /** The size of the payload in bytes, uncompressed. */
  payloadSize: z.number().optional(),
  payloadUrl: z.string().optional(),
  /** Why the run waits for a person: the dialog that is open in its worker's terminal. Unset if the run does not wait. */
  blocked: z.string().optional(),
  /** The end of the run's output, while it runs. For a stopped run that is asked for by its id: the last screen of its worker's terminal. */
  preview: z.string().optional(),
  /** The id of the earlier run whose contract this run was given again. Unset: it has a contract of its own. */
  again: z.string().optional(),
  /** The whole contract. Set only if the caller asked for it and may see it. */
  contract: z.string().optional(),
  /** The tokens and cost of the run's model. Unset if they are unknown. */
  spend: Spend.optional(),
})
export type Run = z.infer<typeof Run>
