// Toolset `agents`: starts runs, in which agents work on a contract by themselves, and returns their status and results.

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { agentStatusOf, Contract, HarnessName, limits, type Run, Summary } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { indentedForModel } from '../text.ts'
import { defineTool, type Tool, type ToolAnswer } from './tool.ts'

/**
 * Size of a page of a payload in bytes. Even if every byte is a line, which indentation makes three times as long, the page fits into an answer
 * (text.ts).
 */
const pageBytesMax = 10 * 1024

/** The outcome of a run that has ended, with its times. */
function endedAnswer({ status, startedAt, completedAt, stoppedAt }: Run): ToolAnswer {
  return { json: { status, started_at: startedAt, completed_at: completedAt, stopped_at: stoppedAt } }
}

const agentStartTool = defineTool({
  name: 'agent_start',
  title: 'Start an agent',
  description:
    'Start an agent that works on a contract by itself. Answers at once; agent_status returns its progress, and a message tells you when it has ended.',
  input: z.object({
    contract: Contract.describe('What it should do, complete in itself, and what it should hand over'),
    harness: HarnessName.optional().describe(
      'loop (default; without a model, the first CLI on PATH), a CLI, or external: an agent that completes it',
    ),
    model: z.string().min(1).max(200).optional(),
    cwd: z.string().min(1).max(limits.pathCharsMax).optional().describe('Working directory'),
    agent: z.string().max(64).optional().describe('Who carries out an external one; you, if left out'),
  }),
  hints: { openWorld: true },
  run: async (client, input) => {
    const { id, status, startedAt, agent, note } = await client.call('run.start', input)
    return { json: { agent_id: id, status, started_at: startedAt, agent_name: agent }, note }
  },
})

const agentStatusTool = defineTool({
  name: 'agent_status',
  title: 'Status of agents',
  description:
    'The progress of agents: status, summary, where the payload is, or a preview of recent output. Workers by name, too.',
  input: z.object({ agent_ids: z.array(z.string().min(1).max(limits.idCharsMax)).max(limits.runsAskedMax) }),
  hints: { readOnly: true, idempotent: true },
  run: async (client, { agent_ids }) => {
    const { runs } = await client.call('run.status', { runs: agent_ids })
    return { json: runs.map(agentStatusOf) }
  },
})

const agentCompleteTool = defineTool({
  name: 'agent_complete',
  title: 'Complete a contract',
  description: 'Say that your contract is fulfilled. Call it once, as the last thing you do.',
  input: z.object({
    agent_id: z.string().min(1).max(limits.idCharsMax),
    summary: Summary.describe('What was done and what came of it'),
    // The operation checks the size: counting eight million characters twice takes too long.
    payload: z.string().optional().describe('The result itself, up to 8 MiB; larger ones belong in files'),
  }),
  hints: { idempotent: true },
  run: async (client, { agent_id: run, summary, payload }) =>
    endedAnswer(await client.call('run.complete', { run, summary, payload })),
})

const agentStopTool = defineTool({
  name: 'agent_stop',
  title: 'Stop an agent',
  description: 'Stop an agent: its model is asked nothing more. One that is over already stays as it is.',
  input: z.object({ agent_id: z.string().min(1).max(limits.idCharsMax) }),
  hints: { destructive: true, idempotent: true },
  run: async (client, { agent_id: run }) => endedAnswer(await client.call('run.stop', { run })),
})

const agentPayloadTool = defineTool({
  name: 'agent_payload',
  title: 'Read a payload',
  description: 'What an agent handed over, page by page.',
  input: z.object({
    agent_id: z.string().min(1).max(limits.idCharsMax),
    offset: z.number().int().min(0).optional().describe('The byte to begin at; each page says the next'),
  }),
  hints: { readOnly: true, idempotent: true },
  run: async (client, { agent_id: run, offset = 0 }) => {
    const { gzip } = await client.call('run.payload', { run })
    const bytes = await promisify(gunzip)(Buffer.from(gzip, 'base64'))
    const [from, to] = [startOfCharacter(bytes, offset), startOfCharacter(bytes, offset + pageBytesMax)]
    const more = to < bytes.length ? ` Next: agent_payload(agent_id="${run}", offset=${to})` : ' This is its end.'
    return `Bytes ${from} to ${to} of ${bytes.length}.${more}\n\n${indentedForModel(bytes.subarray(from, to).toString())}`
  },
})

/** The offset at which the UTF-8 character that contains this byte begins; at most the end. */
function startOfCharacter(bytes: Uint8Array, at: number): number {
  let start = Math.min(at, bytes.length)
  while (start > 0 && start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start--
  return start
}

export const agentTools: readonly Tool[] = [
  ...[agentStartTool, agentStatusTool, agentCompleteTool, agentStopTool, agentPayloadTool],
]
