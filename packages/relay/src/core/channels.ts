// Rules for channels: creating, joining, leaving and removing. An agent's stay begins at the channel's current message number: a newcomer has no backlog.

import type { Fact } from '@agent-relay/sdk/protocol'
import { generalChannel, isChannel } from './conversations.ts'
import { nearestNames } from './nearest.ts'
import { type Command, type Refused, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

interface ChannelInput {
  channel: string
}

export function create(view: View, { input, by }: Command<ChannelInput>): Verdict {
  if (view.lastNumber(input.channel) !== undefined) return refuse('channel.exists', { channel: input.channel })
  return recordFacts(enterChannelFacts(view, by, input.channel), { channel: input.channel })
}

interface JoinInput extends ChannelInput {
  create?: boolean
  /** The message number after which the agent's stay begins, to restore a stay that a failover has lost. By default it begins now. */
  after?: number
}

export function join(view: View, { input, by }: Command<JoinInput>): Verdict {
  const { channel, create, after } = input
  const isThere = view.lastNumber(channel) !== undefined
  if (!isThere && !create) return refuseUnknownChannel(view, channel)
  return recordFacts(enterChannelFacts(view, by, channel, after), isThere ? { channel } : { channel, created: true })
}

export function leave(view: View, { input, by }: Command<ChannelInput>): Verdict {
  const { channel } = input
  const n = view.lastNumber(channel)
  if (n === undefined) return refuseUnknownChannel(view, channel)
  if (channel === generalChannel) return refuse('channel.permanent', { channel })
  if (!view.isMember(by, channel)) return refuse('channel.not-member', { channel })
  return recordFacts([{ type: 'channel.left', channel, agent: by, n }], { channel })
}

/** Removes an unused channel. A channel that has a message, or that another agent has been in, stays. */
export function remove(view: View, { input, by }: Command<ChannelInput>): Verdict {
  const { channel } = input
  const n = view.lastNumber(channel)
  if (n === undefined) return refuseUnknownChannel(view, channel)
  if (channel === generalChannel) return refuse('channel.permanent', { channel })
  const other = view.otherMember(by, channel)
  if (n > 0) return refuse('channel.in-use', { channel, why: 'something was said in it' })
  if (other !== undefined) return refuse('channel.in-use', { channel, why: `${other} has joined it` })
  return recordFacts([{ type: 'channel.removed', channel }], { channel })
}

/** Returns the facts that bring an agent into a channel: none if the agent is in it already, and also the channel's creation if it is new. */
export function enterChannelFacts(view: View, agent: string, channel: string, after?: number): Fact[] {
  if (view.isMember(agent, channel)) return []
  const n = view.lastNumber(channel)
  const joined: Fact = { type: 'channel.joined', channel, agent, n: after ?? n ?? 0 }
  return n === undefined ? [{ type: 'channel.created', channel }, joined] : [joined]
}

/** The most channels that a refusal names, the nearest names first: a workspace may have thousands, and a reader takes in few. */
const channelsNamedMax = 20

/** Refuses an unknown channel. `canMake`: whether the caller could create the channel. */
export function refuseUnknownChannel(view: View, channel: string, canMake = true): Refused {
  const all = view.channels()
  const channels = [...new Set([...nearestNames(channel, all), ...all.slice(0, channelsNamedMax)])].slice(
    0,
    channelsNamedMax,
  )
  return refuse('channel.unknown', {
    channel,
    channels,
    more: all.length - channels.length,
    canMake: canMake && isChannel(channel),
  })
}
