// The tools about channels: join_channel, leave_channel and list_channels.

import { z } from 'zod'
import { listAnswer } from '../../text.ts'
import { defineEnvelopeTool } from '../tool.ts'

export const joinChannelTool = defineEnvelopeTool({
  name: 'join_channel',
  title: 'Join a channel',
  description: 'Enter a channel from its current message on; it is made if there is none.',
  input: z.object({ channel: z.string().min(1).describe('e.g. #planning') }),
  hints: { idempotent: true },
  // The channel is created if missing, since the first agent of a team has nobody who could have made it; `created` in the answer says so.
  run: (client, { channel }) => client.call('channel.join', { channel, create: true }),
})

export const leaveChannelTool = defineEnvelopeTool({
  name: 'leave_channel',
  title: 'Leave a channel',
  description: 'Leave a channel. What you have not read stays in your inbox.',
  input: z.object({ channel: z.string().min(1) }),
  hints: {},
  run: (client, { channel }) => client.call('channel.leave', { channel }),
})

export const listChannelsTool = defineEnvelopeTool({
  name: 'list_channels',
  title: 'List channels',
  description: 'The channels of the workspace.',
  input: z.object({}),
  hints: { readOnly: true, idempotent: true },
  worksWithoutAgent: true,
  run: async (client) => listAnswer('channels', (await client.call('channel.list', {})).channels),
})
