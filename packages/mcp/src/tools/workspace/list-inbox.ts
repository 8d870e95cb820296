// list_inbox: hands out unread messages. They count as read when the agent comes back with its next call.

import { z } from 'zod'
import { bodiesBytesMax, inboxOutput, inboxText, shownMessages } from '../inbox-text.ts'
import { workspaceTool } from './tool.ts'

export const listInboxTool = workspaceTool({
  name: 'list_inbox',
  title: 'Read your inbox',
  description: 'Messages sent to you, your channels or everyone. They count as read at your next call.',
  input: z.object({
    limit: z.number().int().min(1).max(100).optional().default(10),
    from: z.string().optional().describe('Only from this sender'),
    channel: z.string().optional().describe('Only from this channel'),
    unread_only: z.boolean().optional().default(true),
  }),
  output: inboxOutput,
  hints: {},
  showsInbox: true,
  run: async (client, input) => {
    const page = await client.getInbox({ ...input, bytesMax: bodiesBytesMax })
    return { text: inboxText(page, page.more, 'list_inbox'), messages: shownMessages(page), more: page.more }
  },
})
