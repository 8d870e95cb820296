// join_channel: enters a channel, which is made if there is none.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const joinChannelTool = workspaceTool({
  name: 'join_channel',
  title: 'Join a channel',
  description: 'Enter a channel from its current message on; it is made if there is none.',
  input: z.object({ channel: z.string().min(1).describe('e.g. #planning') }),
  output: { channel: z.string() },
  hints: { idempotent: true },
  run: async (client, { channel }) => {
    const joined = await client.call('channel.join', { channel })
    return { text: `You are in ${joined.channel}.`, ...joined }
  },
})
