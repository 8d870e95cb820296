// read_messages: hands out what waits for a role, first in first out. It is consumed when the reader comes back with its next call.

import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { bodiesBytesMax } from '../inbox-text.ts'
import { liftTool, roleInput } from './tool.ts'

const message = z.object({
  id: z.string(),
  from: z.string(),
  to: z.string(),
  kind: z.string(),
  body: z.string(),
  ts: z.string(),
})

export const readMessagesTool = liftTool({
  name: 'read_messages',
  title: 'Read your messages',
  description:
    'Take all messages that wait for your role, oldest first. They are consumed: a second call returns none.',
  input: z.object({ for: roleInput }),
  output: z.object({
    messages: z.array(message),
    more: z.number().optional().describe('So many did not fit: call again'),
  }),
  hints: {},
  showsInbox: true,
  role: (input) => input.for,
  run: async (client) => {
    const page = await client.getInbox({ limit: limits.pageMessagesMax, bytesMax: bodiesBytesMax })
    const messages = page.map(({ id, from, to, kind, body, ts }) => ({ id, from, to: String(to), kind, body, ts }))
    return page.more > 0 ? { messages, more: page.more } : { messages }
  },
})
