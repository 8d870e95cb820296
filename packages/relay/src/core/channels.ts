// Channels: making, entering, leaving. A stay begins at the channel's current number: a newcomer has no backlog.

import type { Fact } from '@agent-relay/sdk/protocol'
import { generalChannel } from './conversations.ts'
import { type Command, type Refused, record, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

interface ChannelInput {
  channel: string
}

export function create(view: View, { input, by }: Command<ChannelInput>): Verdict {
  if (view.lastNumber(input.channel) !== undefined) return refuse('channel.exists', { channel: input.channel })
  return record(enter(view, by, input.channel), { channel: input.channel })
}

export function join(view: View, { input, by }: Command<ChannelInput>): Verdict {
  return record(enter(view, by, input.channel), { channel: input.channel })
}

export function leave(view: View, { input, by }: Command<ChannelInput>): Verdict {
  const { channel } = input
  const n = view.lastNumber(channel)
  if (n === undefined) return unknownChannel(view, channel)
  if (channel === generalChannel) return refuse('channel.permanent', { channel })
  if (!view.isMember(by, channel)) return refuse('channel.not-member', { channel })
  return record([{ type: 'channel.left', channel, agent: by, n }], { channel })
}

/** The facts that bring an agent into a channel: none if it is there already, and the channel itself if it is new. */
export function enter(view: View, agent: string, channel: string): Fact[] {
  if (view.isMember(agent, channel)) return []
  const n = view.lastNumber(channel)
  const joined: Fact = { type: 'channel.joined', channel, agent, n: n ?? 0 }
  return n === undefined ? [{ type: 'channel.created', channel }, joined] : [joined]
}

export function unknownChannel(view: View, channel: string): Refused {
  return refuse('channel.unknown', { channel, channels: view.channels() })
}
