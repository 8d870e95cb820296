// relay_status: who you are, and whether the relay is well.

import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { type Tool, type ToolAnswer, tool } from './tool.ts'

export const relayStatusSchema = z.object({})
export type RelayStatusInput = z.input<typeof relayStatusSchema>

const output = z.object({
  connected: z.boolean(),
  agentName: z.string(),
  project: z.string(),
  daemonVersion: z.string().optional(),
})

export const relayStatusTool: Tool = tool({
  name: 'relay_status',
  title: 'Relay status',
  description: 'Your agent name, the project, and whether the relay is connected.',
  input: relayStatusSchema,
  output,
  hints: { readOnly: true, idempotent: true },
  run: (client) => run(client),
})

async function run(client: ToolClient): Promise<ToolAnswer<z.infer<typeof output>>> {
  const { connected, agentName, project, socketPath, daemonVersion, uptime } = await client.getStatus()
  const lines = [
    'Relay Status:',
    `- Connected: ${connected ? 'Yes' : 'No'}`,
    `- Agent Name: ${agentName || 'Not registered'}`,
    `- Project: ${project || 'Unknown'}`,
    `- Socket: ${socketPath}`,
    `- Daemon Version: ${daemonVersion || 'Unknown'}`,
    `- Uptime: ${uptime || 'N/A'}`,
  ]
  return { text: lines.join('\n'), structured: { connected, agentName, project, daemonVersion } }
}

export async function handleRelayStatus(
  client: Pick<ToolClient, 'getStatus'>,
  _input: RelayStatusInput,
): Promise<string> {
  return (await run(client as ToolClient)).text
}
