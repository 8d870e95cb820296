// relay_inbox: hands out unread messages. They count as read when the agent comes back with its next call.

import { z } from 'zod'
import type { ToolClient } from '../client.ts'
import { bodiesBytesMax, inboxOutput, inboxText, shownMessages } from './inbox-text.ts'
import { type Tool, type ToolAnswer, tool } from './tool.ts'

export const relayInboxSchema = z.object({
  limit: z.number().int().min(1).max(100).optional().default(10).describe('Max messages to return'),
  unread_only: z.boolean().optional().default(true).describe('Only unread messages'),
  from: z.string().optional().describe('Only from this sender'),
  channel: z.string().optional().describe('Only from this channel'),
})
export type RelayInboxInput = z.input<typeof relayInboxSchema>

const output = z.object(inboxOutput)

export const relayInboxTool: Tool = tool({
  name: 'relay_inbox',
  title: 'Read your inbox',
  description: `Get messages sent to you directly, to your channels or to everyone.

Examples:
- All unread: (no params)
- From one agent: from="Alice"
- From a channel: channel="#general"`,
  input: relayInboxSchema,
  output,
  hints: {},
  showsInbox: true,
  run,
})

async function run(client: ToolClient, input: RelayInboxInput): Promise<ToolAnswer<z.infer<typeof output>>> {
  const messages = await client.getInbox({ ...input, bytesMax: bodiesBytesMax })
  const { more = 0 } = messages
  return { text: inboxText(messages, more, 'relay_inbox'), structured: { messages: shownMessages(messages), more } }
}

export async function handleRelayInbox(client: Pick<ToolClient, 'getInbox'>, input: RelayInboxInput): Promise<string> {
  return (await run(client as ToolClient, input)).text
}
