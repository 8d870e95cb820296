// list_channels: the channels of the workspace, and which of them the caller is in.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const listChannelsTool = workspaceTool({
  name: 'list_channels',
  title: 'List channels',
  description: 'The channels of the workspace.',
  input: z.object({}),
  output: {
    channels: z.array(z.object({ name: z.string(), members: z.number(), messages: z.number(), joined: z.boolean() })),
  },
  hints: { readOnly: true, idempotent: true },
  isForAnyone: true,
  run: async (client) => {
    const { channels } = await client.call('channel.list', {})
    const lines = channels.map(
      ({ name, members, joined }) => `- ${name} (${members} members${joined ? ', you too' : ''})`,
    )
    return { text: lines.join('\n'), channels }
  },
})
