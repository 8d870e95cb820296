// Runs as schemas and types: who carries one out, and what is told of it. No behaviour.

import { z } from 'zod'
import { runHarnesses } from '../internal/clis.ts'
import { Spend } from './spend.ts'

export const HarnessName = z.enum(runHarnesses)
export type HarnessName = z.infer<typeof HarnessName>
export const runStatuses = ['ready', 'running', 'stopped', 'completed'] as const
export const RunState = z.enum(runStatuses)
export type RunState = z.infer<typeof RunState>

/** A contract given to an agent. */
export const Run = z.object({
  id: z.string(),
  /** The agent that carries it out. */
  agent: z.string(),
  /** Who asked for it. */
  parent: z.string(),
  harness: z.string(),
  model: z.string().optional(),
  status: RunState,
  startedAt: z.string(),
  completedAt: z.string().optional(),
  stoppedAt: z.string().optional(),
  stopReason: z.string().optional(),
  summary: z.string().optional(),
  /** Of the payload, uncompressed. */
  payloadSize: z.number().optional(),
  payloadUrl: z.string().optional(),
  /** Why it waits for a person, where its worker does: a dialog. */
  blocked: z.string().optional(),
  /** The end of its output while it runs; of a stopped one, where it is asked for by its id, the last screen of its worker. */
  preview: z.string().optional(),
  /** The id of the run whose contract it was given again. */
  again: z.string().optional(),
  /** The whole of it, where that was asked for; for those who may see it. */
  contract: z.string().optional(),
  /** What it has used of its model; left out where that is not known. */
  spend: Spend.optional(),
})
export type Run = z.infer<typeof Run>
