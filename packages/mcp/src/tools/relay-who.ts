// relay_who: lists the connected agents.

import { agentState } from '@agent-relay/sdk/internal/agent-state'
import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { labelText } from '@agent-relay/sdk/internal/injection'
import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import type { Agent } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { defineTool, type Tool } from './tool.ts'

export const relayWhoSchema = z.object({
  include_idle: z.boolean().optional().default(true).describe('Include idle agents'),
  project: z.string().optional().describe('Agents of another project'),
})
export type RelayWhoInput = z.input<typeof relayWhoSchema>

export const relayWhoTool: Tool = defineTool({
  name: 'relay_who',
  title: 'List online agents',
  description: 'List online agents with their CLI and status, e.g. "Bob (codex) - idle".',
  input: relayWhoSchema,
  hints: { readOnly: true, idempotent: true },
  run: handleRelayWho,
})

export async function handleRelayWho(client: Pick<ToolClient, 'listAgents'>, input: RelayWhoInput): Promise<string> {
  const agents = await client.listAgents(input)
  const lines = agents.map((agent) => `- ${agentLine(agent)}`)
  const here = lines.length === 0 ? 'No agents online.' : `${lines.length} agent(s) online:\n${lines.join('\n')}`
  const { abroad = [] } = agents
  return abroad.length === 0 ? here : `${here}\nIn other workspaces, by their addresses: ${abroad.join(', ')}`
}

/** A line such as `Bob (codex) - idle [wakes]`. */
export function agentLine(agent: Agent & { idle: boolean }): string {
  const { name, cli, type, parent, reached } = agent
  const hired = parent ? ` [worker of: ${parent}]` : ''
  const how = reached ? ` [${reached}]` : ''
  return `${name} (${labelText(cli ?? type ?? 'agent')}) - ${stateOf(agent)}${how}${hired}`
}

function stateOf(agent: Agent & { idle: boolean }): string {
  // A program's own ToolClient may tell only whether an agent is idle.
  const { kind, text } = agentState({ ...agent, status: agent.status ?? (agent.idle ? 'idle' : 'active') })
  // An unreachable agent's last known state may have changed, so it is not shown.
  if (kind === 'unreachable')
    return `on ${agent.machine}, which cannot be reached (${lastHeardText(agent.machineSeenAt)})`
  if (kind === 'offline') return 'away'
  return cleanLineForModel(text)
}
