// reply: answers a message where it was said, in its thread.

import { z } from 'zod'
import { sentAnswer, sentOutput } from './send-message.ts'
import { workspaceTool } from './tool.ts'

export const replyTool = workspaceTool({
  name: 'reply',
  title: 'Reply to a message',
  description: 'Answer a message in its thread, where it was said; a broadcast is answered to its sender.',
  input: z.object({ message: z.string().min(1).describe('Message id'), text: z.string().min(1) }),
  output: sentOutput,
  hints: {},
  run: async (client, { message, text }) =>
    sentAnswer(await client.call('message.send', { replyTo: message, body: text })),
})
