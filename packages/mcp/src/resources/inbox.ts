// relay://inbox: a look at what waits, as JSON. Reading it takes nothing and marks nothing.

import type { ToolClient } from '../client.ts'

const peekMax = 50

export const inboxResource = {
  uri: 'relay://inbox',
  name: 'Message Inbox',
  description: 'Your unread messages (a look: nothing is marked read)',
  mimeType: 'application/json',
}

export async function getInboxResource(client: Pick<ToolClient, 'getInbox'>): Promise<string> {
  const messages = await client.getInbox({ peek: true, unread_only: true, limit: peekMax })
  return JSON.stringify([...messages], null, 2)
}
