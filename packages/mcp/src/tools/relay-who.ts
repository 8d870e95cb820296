// relay_who: who is connected.

import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { labelText } from '@agent-relay/sdk/internal/injection'
import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import type { Agent } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { type Tool, tool } from './tool.ts'

export const relayWhoSchema = z.object({
  include_idle: z.boolean().optional().default(true).describe('Include idle agents'),
  project: z.string().optional().describe('Agents of another project'),
})
export type RelayWhoInput = z.input<typeof relayWhoSchema>

export const relayWhoTool: Tool = tool({
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

/** `Bob (codex) - idle [wakes]` */
export function agentLine(agent: Agent & { idle: boolean }): string {
  const { name, cli, type, parent, reached } = agent
  const hired = parent ? ` [worker of: ${parent}]` : ''
  const how = reached ? ` [${reached}]` : ''
  return `${name} (${labelText(cli ?? type ?? 'agent')}) - ${stateOf(agent)}${how}${hired}`
}

function stateOf({ status, idle, blocked, worker, doing, machine, machineSeenAt }: Agent & { idle: boolean }): string {
  // What was known of it before may have changed.
  if (status === 'unreachable') return `on ${machine}, which cannot be reached (${lastHeardText(machineSeenAt)})`
  return (
    blockedText(blocked) ??
    troubleOf(worker) ??
    doingText(doing) ??
    (idle ? 'idle' : status === 'offline' ? 'away' : 'active')
  )
}

/** As its program says. A person has to answer what it waits for. */
function doingText(doing: Agent['doing']): string | undefined {
  return doing?.for === undefined ? doing?.state : `${doing.state}: ${cleanLineForModel(doing.for)}`
}

/** It waits for a person, and cannot answer before. */
function blockedText(blocked: Agent['blocked']): string | undefined {
  if (!blocked) return undefined
  return `blocked: ${cleanLineForModel(blocked.wants ?? 'waits for an approval')}`
}

/** What a sender should know of a worker that will not answer soon. */
function troubleOf(worker: Agent['worker']): string | undefined {
  if (worker?.status === 'blocked') return `blocked: ${cleanLineForModel(worker.reason ?? 'a dialog is open')}`
  return worker?.status === 'paused' || worker?.status === 'starting' ? worker.status : undefined
}
