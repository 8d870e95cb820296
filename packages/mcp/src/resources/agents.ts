// relay://agents: who is connected, as JSON.

import type { ToolClient } from '../client.ts'

export const agentsResource = {
  uri: 'relay://agents',
  name: 'Online Agents',
  description: 'Agents that are connected to the relay now',
  mimeType: 'application/json',
}

export async function getAgentsResource(client: Pick<ToolClient, 'listAgents'>): Promise<string> {
  return JSON.stringify(await client.listAgents({ include_idle: true }), null, 2)
}
