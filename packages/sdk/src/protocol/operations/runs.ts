// Operations on runs: contracts given to agents, how they fare, and what they hand over. Their events come by event.follow.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { AgentName, Contract, HarnessName, ModelName, Payload, Run, RunState, Summary } from '../words.ts'
import { type OperationTable, page } from './rule.ts'

const run = z.string().min(1).max(limits.idCharsMax)

export const runOperations = {
  'run.start': {
    kind: 'command',
    who: 'anyone',
    summary: 'Give an agent a contract; answers at once, with the run that has begun. A message tells you of its end.',
    input: z.object({
      contract: Contract,
      /** The built-in loop, if left out. */
      harness: HarnessName.optional(),
      model: ModelName.optional(),
      cwd: z.string().min(1).max(4_096).optional(),
      /** Who carries out an `external` run; the one who asks, if left out. */
      agent: AgentName.optional(),
    }),
    output: Run,
  },
  'run.status': {
    kind: 'query',
    who: 'anyone',
    summary:
      'How runs fare, by their ids; workers too, by their names. An unknown id is an error of its own, not of the call.',
    input: z.object({ runs: z.array(run).max(limits.runsAskedMax) }),
    output: z.object({ runs: z.array(z.union([Run, z.object({ id: z.string(), error: z.string() })])) }),
  },
  'run.list': {
    kind: 'query',
    who: 'anyone',
    summary: 'The runs you asked for or carry out, newest first; all of them for people and the key holder.',
    input: z.object({ status: RunState.optional(), limit: page.optional() }),
    output: z.object({ runs: z.array(Run) }),
  },
  'run.complete': {
    kind: 'command',
    who: 'anyone',
    summary:
      'Say that a run is done. For its own agent, who asked for it, and the key holder; a second time changes nothing.',
    input: z.object({ run, summary: Summary, payload: Payload.optional() }),
    output: Run,
  },
  'run.stop': {
    kind: 'command',
    who: 'anyone',
    summary: 'End a run: its model is asked nothing more. One that is over already stays as it is.',
    input: z.object({ run, reason: z.string().max(2_000).optional() }),
    output: Run,
  },
  'run.contract': {
    kind: 'query',
    who: 'anyone',
    summary: 'What a run was asked: for its agent, who asked for it, people and the key holder.',
    input: z.object({ run }),
    output: z.object({ contract: z.string() }),
  },
  'run.payload': {
    kind: 'query',
    who: 'anyone',
    summary: 'What a run handed over: gzip, in base64.',
    input: z.object({ run }),
    output: z.object({ size: z.number(), gzip: z.string() }),
  },
} satisfies OperationTable
