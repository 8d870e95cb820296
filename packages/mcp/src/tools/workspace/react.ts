// react: an emoji on a message, or off it again.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const reactTool = workspaceTool({
  name: 'react',
  title: 'React to a message',
  description: 'Put an emoji on a message, or take yours off.',
  input: z.object({ message: z.string().min(1), emoji: z.string().min(1), remove: z.boolean().optional() }),
  output: { message: z.string() },
  hints: { idempotent: true },
  run: async (client, input) => {
    const { message } = await client.call('message.react', input)
    return {
      text: input.remove ? `Your ${input.emoji} is off ${message}.` : `${input.emoji} is on ${message}.`,
      message,
    }
  },
})
