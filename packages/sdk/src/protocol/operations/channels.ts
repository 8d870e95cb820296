// Operations on channels: making, entering, leaving, listing.

import { z } from 'zod'
import { Channel, ChannelName } from '../words.ts'
import type { OperationTable } from './rule.ts'

export const channelOperations = {
  'channel.create': {
    kind: 'command',
    who: 'agent',
    summary: 'Make a channel and enter it.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.join': {
    kind: 'command',
    who: 'agent',
    summary: 'Enter a channel, from its current message on; makes it if there is none.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.leave': {
    kind: 'command',
    who: 'agent',
    summary: 'Leave a channel. What was not read yet stays in the inbox.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.list': {
    kind: 'query',
    who: 'anyone',
    summary: 'All channels, with members and messages counted.',
    input: z.object({}),
    output: z.object({ channels: z.array(Channel) }),
  },
} satisfies OperationTable
