// The tools about your inbox: list_inbox, mark_read and flush_deliveries.

import { RelayError } from '@agent-relay/sdk'
import { limits } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { bodiesBytesMax, formatMessagesForModel } from '../relay-inbox.ts'
import { defineEnvelopeTool } from '../tool.ts'

/** Hands out unread messages. They count as read when the agent makes its next call. */
export const listInboxTool = defineEnvelopeTool({
  name: 'list_inbox',
  title: 'Read your inbox',
  description: 'Messages sent to you, your channels or everyone. They count as read at your next call.',
  input: z.object({
    limit: z.number().int().min(1).max(100).optional().default(10),
    from: z.string().optional().describe('Only from this sender'),
    channel: z.string().optional().describe('Only from this channel'),
    unread_only: z.boolean().optional().default(true),
    before: z.string().optional().describe('Read ones too, before this message id'),
  }),
  hints: {},
  showsInbox: true,
  run: async (client, input) => {
    const unread_only = input.unread_only && input.before === undefined
    const page = await client.getInbox({ ...input, unread_only, bytesMax: bodiesBytesMax })
    return { messages: formatMessagesForModel(page), more: page.more }
  },
})

export const markReadTool = defineEnvelopeTool({
  name: 'mark_read',
  title: 'Mark as read',
  description: 'Mark a message, or all of a thread, as read.',
  input: z.object({ message: z.string().min(1).optional(), thread: z.string().min(1).optional() }),
  hints: { idempotent: true },
  run: async (client, { message, thread }) => {
    if ((message === undefined) === (thread === undefined))
      throw new RelayError('Name what you have read: either message or thread.', { code: 'input.invalid' })
    const input = message === undefined ? { thread } : { messages: [message] }
    return client.call('inbox.read', input)
  },
})

/** Hands out as many messages as one answer may hold, and says how many more there are. */
export const flushDeliveriesTool = defineEnvelopeTool({
  name: 'flush_deliveries',
  title: 'Deliver what waits',
  description: 'Hand out everything that waits for you, now, up to one page.',
  input: z.object({}),
  hints: {},
  showsInbox: true,
  run: async (client) => {
    const page = await client.getInbox({ limit: limits.pageMessagesMax, bytesMax: bodiesBytesMax })
    return { messages: formatMessagesForModel(page), more: page.more }
  },
})
