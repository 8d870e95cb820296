// Operations on channels: creating, joining, leaving, removing, listing.

import { z } from 'zod'
import { Channel, ChannelName } from '../words.ts'
import type { OperationTable } from './rule.ts'

export const channelOperations = {
  'channel.create': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Make a channel and enter it.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.join': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Enter a channel, from its current message on.',
    input: z.object({
      channel: ChannelName,
      /** Whether to create the channel if it does not exist. */
      create: z.boolean().optional(),
    }),
    output: z.object({
      channel: z.string(),
      /** Whether this call has created the channel. */
      created: z.boolean().optional(),
    }),
  },
  'channel.leave': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Leave a channel. What was not read yet stays in the inbox.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.remove': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Remove a channel that you made, while nobody else has joined it and nothing was said in it.',
    input: z.object({ channel: ChannelName }),
    output: z.object({ channel: z.string() }),
  },
  'channel.list': {
    kind: 'query',
    who: 'anyone',
    network: 'open',
    summary: 'All channels, with members and messages counted.',
    input: z.object({}),
    output: z.object({ channels: z.array(Channel) }),
  },
} satisfies OperationTable
