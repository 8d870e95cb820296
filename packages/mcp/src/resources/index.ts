// The resources, what each reads, and which events change it.

import type { RelayEvent } from '@agent-relay/sdk/protocol'
import type { ToolClient } from '../client.ts'
import { agentsResource, getAgentsResource } from './agents.ts'
import { getInboxResource, inboxResource } from './inbox.ts'
import { getProjectResource, projectResource } from './project.ts'

export { agentsResource, getAgentsResource, getInboxResource, getProjectResource, inboxResource, projectResource }

export interface RelayResource {
  listed: { uri: string; name: string; description: string; mimeType: string }
  read(client: ToolClient): Promise<string>
  /** Types of events after which it reads differently. */
  changedBy: string[]
  /** Of those, which change what this agent reads; all where it says nothing. Nobody has an inbox. */
  concerns?(event: RelayEvent, agent: string | undefined): boolean
}

export const resources: readonly RelayResource[] = [
  { listed: agentsResource, read: getAgentsResource, changedBy: ['agent.*'] },
  {
    listed: inboxResource,
    read: getInboxResource,
    changedBy: ['message.created', 'delivery.read'],
    // A sender hears of its own messages and of their reading too: that is somebody else's inbox.
    concerns: ({ message, fact }, agent) =>
      agent !== undefined && (message ? message.from !== agent : fact.agent === agent),
  },
  { listed: projectResource, read: getProjectResource, changedBy: [] },
]
