// The MCP resources: what each reads, and which events change it.

import type { EventPattern, RelayEvent } from '@agent-relay/sdk/protocol'
import type { ToolClient } from './client.ts'
import { getProtocolPrompt, protocolUri } from './prompt.ts'
import { shownValue } from './text.ts'

/** How many messages a look at the inbox shows. */
const peekMax = 50

export interface RelayResource {
  listed: { uri: string; name: string; description: string; mimeType: string }
  read(client: ToolClient): Promise<string>
  /** Types of events after which it reads differently. */
  changedBy: EventPattern[]
  /** Which of those events change what this agent reads; without it all of them do. A session that acts as no agent has no inbox. */
  concerns?(event: RelayEvent, agent: string | undefined): boolean
}

const mimeType = 'application/json'
const json = (value: unknown) => JSON.stringify(value, null, 2)

export const resources: readonly RelayResource[] = [
  {
    listed: {
      uri: 'relay://agents',
      name: 'Online Agents',
      description: 'Live list of agents currently connected to relay',
      mimeType,
    },
    read: async (client) => json(shownValue(await client.listAgents({ include_idle: true }))),
    changedBy: ['agent.*', 'session.event'],
  },
  {
    listed: {
      uri: 'relay://inbox',
      name: 'Message Inbox',
      description: 'Your pending messages (a look: nothing is marked read)',
      mimeType,
    },
    read: async (client) => {
      const messages = await client.getInbox({ peek: true, unread_only: true, limit: peekMax })
      return json(shownValue([...messages]))
    },
    changedBy: ['message.created', 'delivery.read'],
    // A sender hears about its own messages and their reading, too: those are in somebody else's inbox.
    concerns: (event, agent) =>
      agent !== undefined &&
      (event.message ? event.message.from !== agent : event.type === 'delivery.read' && event.fact.agent === agent),
  },
  {
    listed: {
      uri: 'relay://project',
      name: 'Project Info',
      description: 'Current relay project configuration',
      mimeType,
    },
    read: async (client) => {
      const { project, socketPath, daemonVersion } = await client.getStatus()
      return json({ project, socketPath, daemonVersion })
    },
    changedBy: [],
  },
  {
    listed: {
      uri: protocolUri,
      name: 'Protocol',
      description: 'How agents work together through the relay, whole',
      mimeType: 'text/markdown',
    },
    read: async () => getProtocolPrompt(),
    changedBy: [],
  },
]
