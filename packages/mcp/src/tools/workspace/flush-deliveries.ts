// flush_deliveries: hands out all that waits, as much as one answer may hold, and says how many more there are.

import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { bodiesBytesMax, inboxOutput, inboxText, shownMessages } from '../inbox-text.ts'
import { workspaceTool } from './tool.ts'

export const flushDeliveriesTool = workspaceTool({
  name: 'flush_deliveries',
  title: 'Deliver what waits',
  description: 'Hand out everything that waits for you, now, up to one page.',
  input: z.object({}),
  output: inboxOutput,
  hints: {},
  showsInbox: true,
  run: async (client) => {
    const page = await client.getInbox({ limit: limits.pageMessagesMax, bytesMax: bodiesBytesMax })
    return { text: inboxText(page, page.more, 'flush_deliveries'), messages: shownMessages(page), more: page.more }
  },
})
