// relay_status: who you are, and whether the relay is well.

import { statusTool } from '@agent-relay/sdk/internal/stand-by'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { type Tool, tool } from './tool.ts'

export const relayStatusSchema = z.object({})
export type RelayStatusInput = z.input<typeof relayStatusSchema>

export const relayStatusTool: Tool = tool({
  name: statusTool.name,
  title: statusTool.title,
  description: statusTool.description,
  input: relayStatusSchema,
  hints: { readOnly: true, idempotent: true },
  run: handleRelayStatus,
})

export async function handleRelayStatus(
  client: Pick<ToolClient, 'getStatus'>,
  _input: RelayStatusInput,
): Promise<string> {
  const { connected, agentName, project, socketPath, daemonVersion, uptime } = await client.getStatus()
  return [
    'Relay Status:',
    `- Connected: ${connected ? 'Yes' : 'No'}`,
    `- Agent Name: ${agentName || 'Not registered'}`,
    `- Project: ${project || 'Unknown'}`,
    `- Socket: ${socketPath}`,
    `- Daemon Version: ${daemonVersion || 'Unknown'}`,
    `- Uptime: ${uptime || 'N/A'}`,
  ].join('\n')
}
