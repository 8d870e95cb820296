// Rows of the table of facts (stored events) about channels, pairs and groups.

import { type ChannelJoined, ChannelName } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { broadcast, directKey, generalChannel } from '../conversations.ts'
import type { Reader } from '../sight.ts'
import type { View } from '../view.ts'
import { mayEndForAgent } from './agents.ts'
import { type AppendedEntry, type FactRows, toEveryone } from './row.ts'
import { type FieldCheck, isConversationName, isCount, isLabel, isListOf } from './shape.ts'

/** Hides who enters or leaves the broadcast: every agent enters it with its registration, so the event would tell nothing new. */
const exceptBroadcast = {
  to: 'everyone',
  if: (_: View, __: Reader, fact: { channel: string }) => fact.channel !== broadcast,
} as const

/** Checks the name of a channel or of the broadcast, since agents enter and leave the broadcast too. */
const channel: FieldCheck = (value) => value === broadcast || ChannelName.safeParse(value).data === value
const stay = { channel, agent: isLabel, n: isCount }

const channelKeys = ({ channel }: { channel: string }) => [
  conflictKeys.conversation(channel),
  conflictKeys.existence(channel),
  conflictKeys.channels,
]
const stayKeys = ({ agent, channel }: { agent: string; channel: string }) => [conflictKeys.stay(agent, channel)]

/** Whether an agent may join a channel. Its stay may not begin after the channel's last message, or the agent would miss the next ones. */
function mayJoin({ agent, channel: name, n }: ChannelJoined, by: AppendedEntry): boolean {
  return by.speaksFor(agent) && n <= (by.view.lastNumber(name) ?? 0)
}

export const conversationFacts: FactRows<`channel.${string}` | `conversation.${string}`> = {
  'channel.created': {
    shape: { channel },
    mayAppend: ({ channel }, { view }) => view.lastNumber(channel) === undefined,
    audience: toEveryone,
    changedKeys: channelKeys,
  },
  'channel.joined': {
    shape: stay,
    mayAppend: mayJoin,
    audience: exceptBroadcast,
    changedKeys: stayKeys,
  },
  // A retired agent leaves its channels too, so a machine that may retire the agent may also append this fact.
  'channel.left': {
    shape: stay,
    mayAppend: mayEndForAgent,
    audience: exceptBroadcast,
    changedKeys: stayKeys,
  },
  // A channel can be removed only if nothing was said and nobody else has been in it, which any machine can check.
  'channel.removed': {
    shape: { channel },
    mayAppend: ({ channel }, { view, by }) =>
      channel !== generalChannel && view.lastNumber(channel) === 0 && view.otherMember(by, channel) === undefined,
    audience: toEveryone,
    changedKeys: channelKeys,
  },
  'conversation.opened': {
    shape: { conversation: isConversationName, members: isListOf(isLabel) },
    // The name of a pair or group lists its members, so the fact may name no other members.
    mayAppend: ({ conversation, members }, { view }) =>
      conversation === directKey(members) && view.lastNumber(conversation) === undefined,
    audience: { to: 'agents', agentNames: ({ members }) => members },
    changedKeys: ({ conversation, members }) => [
      conflictKeys.conversation(conversation),
      conflictKeys.existence(conversation),
      ...members.map((name) => conflictKeys.stay(name, conversation)),
    ],
  },
}
