// The MCP resources: the content of each, and the events that change it.

import type { EventPattern, RelayEvent } from '@agent-relay/sdk/protocol'
import type { ToolClient } from './client.ts'
import { getProtocolPrompt, protocolUri } from './prompt.ts'
import { cleanValueForModel } from './text.ts'

/** Maximum number of messages in the resource of the inbox. */
const peekMax = 50

export interface RelayResource {
  listing: { uri: string; name: string; description: string; mimeType: string }
  read(client: ToolClient): Promise<string>
  /** Types of events that change the resource. */
  changedBy: EventPattern[]
  /** Whether an event of these types changes the resource for this agent; by default every event does. A session without an agent has no inbox. */
  concernsAgent?(event: RelayEvent, agent: string | undefined): boolean
}

const mimeType = 'application/json'
const json = (value: unknown) => JSON.stringify(value, null, 2)

export const agentsResource = {
  uri: 'relay://agents',
  name: 'Online Agents',
  description: 'Live list of agents currently connected to relay',
  mimeType,
}

export async function getAgentsResource(client: Pick<ToolClient, 'listAgents'>): Promise<string> {
  return json(cleanValueForModel(await client.listAgents({ include_idle: true })))
}

export const inboxResource = {
  uri: 'relay://inbox',
  name: 'Message Inbox',
  description: 'Your pending messages (a look: nothing is marked read)',
  mimeType,
}

export async function getInboxResource(client: Pick<ToolClient, 'getInbox'>): Promise<string> {
  const messages = await client.getInbox({ peek: true, unread_only: true, limit: peekMax })
  return json(cleanValueForModel([...messages]))
}

export const projectResource = {
  uri: 'relay://project',
  name: 'Project Info',
  description: 'Current relay project configuration',
  mimeType,
}

export async function getProjectResource(client: Pick<ToolClient, 'getStatus'>): Promise<string> {
  const { project, socketPath, daemonVersion } = await client.getStatus()
  return json({ project, socketPath, daemonVersion })
}

export const resources: readonly RelayResource[] = [
  {
    listing: agentsResource,
    read: getAgentsResource,
    changedBy: ['agent.*', 'session.event'],
  },
  {
    listing: inboxResource,
    read: getInboxResource,
    changedBy: ['message.created', 'delivery.read'],
    // Events about messages that the agent sent reach it too, but those messages are in other inboxes.
    concernsAgent: (event, agent) =>
      agent !== undefined &&
      (event.message ? event.message.from !== agent : event.type === 'delivery.read' && event.fact.agent === agent),
  },
  { listing: projectResource, read: getProjectResource, changedBy: [] },
  {
    listing: {
      uri: protocolUri,
      name: 'Protocol',
      description: 'How agents work together through the relay, whole',
      mimeType: 'text/markdown',
    },
    read: async () => getProtocolPrompt(),
    changedBy: [],
  },
]
