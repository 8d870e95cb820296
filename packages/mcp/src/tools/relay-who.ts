// relay_who: who is connected.

import type { Agent } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { type Tool, type ToolAnswer, tool } from './tool.ts'

export const relayWhoSchema = z.object({
  include_idle: z.boolean().optional().default(true).describe('Include idle agents'),
  project: z.string().optional().describe('Agents of another project'),
})
export type RelayWhoInput = z.input<typeof relayWhoSchema>

const output = z.object({
  agents: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      cli: z.string().optional(),
      status: z.string(),
      parent: z.string().optional(),
    }),
  ),
})

export const relayWhoTool: Tool = tool({
  name: 'relay_who',
  title: 'List online agents',
  description: 'List online agents with their CLI and status, e.g. "Bob (codex) - idle".',
  input: relayWhoSchema,
  output,
  hints: { readOnly: true, idempotent: true },
  run,
})

async function run(client: ToolClient, input: RelayWhoInput): Promise<ToolAnswer<z.infer<typeof output>>> {
  const agents = await client.listAgents(input)
  const lines = agents.map(({ name, cli, type, idle, parent, worker }) => {
    const hired = parent ? ` [worker of: ${parent}]` : ''
    return `- ${name} (${cli ?? type ?? 'agent'}) - ${troubleOf(worker) ?? (idle ? 'idle' : 'active')}${hired}`
  })
  const text = lines.length === 0 ? 'No agents online.' : `${lines.length} agent(s) online:\n${lines.join('\n')}`
  return {
    text,
    structured: { agents: agents.map(({ name, type, cli, status, parent }) => ({ name, type, cli, status, parent })) },
  }
}

/** What a sender should know of a worker that will not answer soon. */
function troubleOf(worker: Agent['worker']): string | undefined {
  if (worker?.status === 'blocked') return `blocked: ${worker.reason ?? 'a dialog is open'}`
  return worker?.status === 'paused' || worker?.status === 'starting' ? worker.status : undefined
}

export async function handleRelayWho(client: Pick<ToolClient, 'listAgents'>, input: RelayWhoInput): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
