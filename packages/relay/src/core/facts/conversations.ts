// Rows of the table of facts (stored events) about channels, pairs and groups.

import { type ChannelJoined, ChannelName } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { broadcast, directKey, generalChannel } from '../conversations.ts'
import type { Reader } from '../sight.ts'
import type { View } from '../view.ts'
import { mayEnd } from './agents.ts'
import { type AppendedEntry, everyone, type FactRows } from './row.ts'
import { type Check, conversation, count, label, listOf } from './shape.ts'

/** Hides who enters or leaves the broadcast: everyone is in it, so entering it tells nothing that the registration has not told. */
const exceptBroadcast = {
  to: 'everyone',
  if: (_: View, __: Reader, fact: { channel: string }) => fact.channel !== broadcast,
} as const

/** Checks the name of a channel or of the broadcast, since agents enter and leave the broadcast too. */
const channel: Check = (value) => value === broadcast || ChannelName.safeParse(value).data === value
const stay = { channel, agent: label, n: count }

const channelKeys = ({ channel }: { channel: string }) => [
  keys.conversation(channel),
  keys.existence(channel),
  keys.channels,
]
const stayKeys = ({ agent, channel }: { agent: string; channel: string }) => [keys.stay(agent, channel)]

/** Whether an agent may join a channel. Its stay begins at most at the last message number, or the agent would miss the next messages. */
function mayJoin({ agent, channel: name, n }: ChannelJoined, by: AppendedEntry): boolean {
  return by.speaksFor(agent) && n <= (by.view.lastNumber(name) ?? 0)
}

export const conversationFacts: FactRows<
  'channel.created' | 'channel.joined' | 'channel.left' | 'channel.removed' | 'conversation.opened'
> = {
  'channel.created': {
    shape: { channel },
    said: ({ channel: name }, { view }) => view.lastNumber(name) === undefined,
    seen: everyone,
    writes: channelKeys,
    over: 'never',
  },
  'channel.joined': { shape: stay, said: mayJoin, seen: exceptBroadcast, writes: stayKeys, over: 'never' },
  // A retired agent leaves its channels too, so a machine that may retire the agent may report this.
  'channel.left': { shape: stay, said: mayEnd, seen: exceptBroadcast, writes: stayKeys, over: 'never' },
  // A channel can be removed only if nothing was said and nobody else has been in it, which any machine can check.
  'channel.removed': {
    shape: { channel },
    said: ({ channel: name }, { view, by }) =>
      name !== generalChannel && view.lastNumber(name) === 0 && view.otherIn(by, name) === undefined,
    seen: everyone,
    writes: channelKeys,
    over: 'never',
  },
  'conversation.opened': {
    shape: { conversation, members: listOf(label) },
    // The name of a pair or group lists its members: the fact may bring in nobody else.
    said: ({ conversation, members }, { view }) =>
      conversation === directKey(members) && view.lastNumber(conversation) === undefined,
    seen: { to: 'agents', who: ({ members }) => members },
    writes: ({ conversation, members }) => [
      keys.conversation(conversation),
      keys.existence(conversation),
      ...members.map((name) => keys.stay(name, conversation)),
    ],
    over: 'never',
  },
}
