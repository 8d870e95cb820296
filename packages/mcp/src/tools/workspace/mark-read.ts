// mark_read: one message, or all of a thread.

import { RelayError } from '@agent-relay/sdk'
import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const markReadTool = workspaceTool({
  name: 'mark_read',
  title: 'Mark as read',
  description: 'Mark a message, or all of a thread, as read.',
  input: z.object({ message: z.string().min(1).optional(), thread: z.string().min(1).optional() }),
  output: { read: z.number() },
  hints: { idempotent: true },
  run: async (client, { message, thread }) => {
    if ((message === undefined) === (thread === undefined))
      throw new RelayError('Name what you have read: either message or thread.', { code: 'input.invalid' })
    const input = message === undefined ? { thread } : { messages: [message] }
    const { read } = await client.call('inbox.read', input)
    return { text: read === 0 ? 'It was read already.' : `${read} message(s) marked as read.`, read }
  },
})
