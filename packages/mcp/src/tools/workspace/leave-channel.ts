// leave_channel: leaves a channel; what was not read yet stays in the inbox.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const leaveChannelTool = workspaceTool({
  name: 'leave_channel',
  title: 'Leave a channel',
  description: 'Leave a channel. What you have not read stays in your inbox.',
  input: z.object({ channel: z.string().min(1) }),
  output: { channel: z.string() },
  hints: {},
  run: async (client, { channel }) => {
    const left = await client.call('channel.leave', { channel })
    return { text: `You have left ${left.channel}.`, ...left }
  },
})
