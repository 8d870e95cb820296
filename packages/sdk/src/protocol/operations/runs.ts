// Operations on runs (contracts given to agents): starting and ending them, their status and their results. `event.follow` sends events about runs.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { HarnessName, Run, RunState } from '../runs.ts'
import { AgentName, Contract, ModelName, Payload, Summary } from '../words.ts'
import { type OperationTable, pageSizeSchema } from './rule.ts'

const run = z.string().min(1).max(limits.idCharsMax)

export const runOperations = {
  'run.start': {
    kind: 'command',
    who: 'anyone',
    network: 'run',
    summary: 'Give an agent a contract; returns at once, with the run that has begun. A message tells you of its end.',
    input: z
      .object({
        contract: Contract.optional(),
        /** The id or agent name of a run that has ended. Starts a run with the same contract, for the same agent, carried out by the same kind of agent. */
        again: run.optional(),
        /**
         * What carries out the run: the built-in loop, a CLI or a connected agent (`external`). Unset: the loop if a model is configured for it, else the first
         * CLI on PATH.
         */
        harness: HarnessName.optional(),
        model: ModelName.optional(),
        cwd: z.string().min(1).max(limits.pathCharsMax).optional(),
        /** Whether the CLI that carries out the run gets a git worktree of its own. */
        worktree: z.boolean().optional(),
        /** The agent that carries out an `external` run. Unset: the agent that makes this call. */
        agent: AgentName.optional(),
      })
      .refine(({ contract, again }) => contract !== undefined || again !== undefined, {
        message: 'a run needs a contract',
      })
      .refine(
        ({ again, ...others }) => again === undefined || Object.values(others).every((each) => each === undefined),
        {
          message: '`again` says all of it: leave the others out',
        },
      ),
    /** `note`: something that the caller would not expect, for instance that the run will be stopped at once. */
    output: Run.extend({ note: z.string().optional() }),
  },
  'run.status': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary:
      'The status of runs, by their ids; of workers too, by their names. An unknown id is reported beside the others, and does not fail the call.',
    /** `whole`: whether to return each run's contract, as far as the contracts fit into one answer (4 MiB). */
    input: z.object({ runs: z.array(run).max(limits.runsAskedMax), whole: z.boolean().optional() }),
    output: z.object({ runs: z.array(z.union([Run, z.object({ id: z.string(), error: z.string() })])) }),
  },
  'run.list': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary: 'The runs you asked for or carry out, newest first; all of them for people and the key holder.',
    /** `whole`: whether to return each run's whole contract, as far as the contracts fit into one answer (4 MiB). */
    input: z.object({ status: RunState.optional(), limit: pageSizeSchema.optional(), whole: z.boolean().optional() }),
    output: z.object({
      /** `title` is the first line of the contract. */
      runs: z.array(Run.extend({ title: z.string() })),
    }),
  },
  'run.complete': {
    kind: 'command',
    who: 'anyone',
    network: 'open',
    summary:
      'Say that a run is done. For its own agent, who asked for it, and the key holder; a second time changes nothing.',
    input: z.object({ run, summary: Summary, payload: Payload.optional() }),
    output: Run,
  },
  'run.stop': {
    kind: 'command',
    who: 'anyone',
    network: 'open',
    summary: 'End a run: its model gets no more requests. A run that has ended already stays as it is.',
    input: z.object({ run, reason: z.string().max(2_000).optional() }),
    output: Run,
  },
  'run.contract': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary: 'The contract of a run: for its agent, who asked for it, people and the key holder.',
    input: z.object({ run }),
    output: z.object({ contract: z.string() }),
  },
  'run.payload': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary: 'The payload of a run: gzip, in base64.',
    input: z.object({ run }),
    output: z.object({ size: z.number(), gzip: z.string() }),
  },
} satisfies OperationTable
