// The tools about messages: send_message, reply and react.

import { RelayError } from '@agent-relay/sdk'
import { longBodyText } from '@agent-relay/sdk/internal/long-body'
import { notReachedText, unreachableText } from '@agent-relay/sdk/internal/unreachable-text'
import { messageKinds, type OutputOf } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { parseAddress } from '../../client.ts'
import { absentRecipientsText } from '../../text.ts'
import { defineEnvelopeTool } from '../tool.ts'

export const sendMessageTool = defineEnvelopeTool({
  name: 'send_message',
  title: 'Send a message',
  description: 'Send to a channel, an agent, or a group of agents. It is stored even if they are away.',
  input: z.object({
    to: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .optional()
      .describe('Agent name, several names for a group, or * for everyone'),
    channel: z.string().min(1).optional().describe('Instead of to'),
    text: z.string().min(1),
    thread: z.string().optional().describe('Thread, or the id of the message you answer'),
    kind: z.enum(messageKinds).optional(),
  }),
  hints: {},
  run: async (client, { to, channel, text, thread, kind }) => {
    if ((to === undefined) === (channel === undefined))
      throw new RelayError('Say whom it is for: either to or channel.', { code: 'input.invalid' })
    const address =
      to === undefined ? channelAddress(channel as string) : typeof to === 'string' ? parseAddress(to) : to
    return sentAnswer(await client.call('message.send', { to: address, body: text, thread, kind }), text)
  },
})

function channelAddress(channel: string): string {
  return channel.startsWith('#') ? channel : `#${channel}`
}

function sentAnswer({ id, to, away, unreachable, notReached, failed }: OutputOf<'message.send'>, text: string) {
  const absent = [absentRecipientsText(away), unreachableText(unreachable ?? []), notReachedText(notReached ?? [])]
  const notes = [...absent, longBodyText(text)].flatMap((note) => note ?? [])
  return { id, to, away, unreachable, notReached, failed, note: notes.length === 0 ? undefined : notes.join(' ') }
}

export const replyTool = defineEnvelopeTool({
  name: 'reply',
  title: 'Reply to a message',
  description: 'Answer a message in its thread, where it was said; a broadcast is answered to its sender.',
  input: z.object({ message: z.string().min(1).describe('Message id'), text: z.string().min(1) }),
  hints: {},
  run: async (client, { message, text }) =>
    sentAnswer(await client.call('message.send', { replyTo: message, body: text }), text),
})

export const reactTool = defineEnvelopeTool({
  name: 'react',
  title: 'React to a message',
  description: 'Put an emoji on a message, or take yours off.',
  input: z.object({ message: z.string().min(1), emoji: z.string().min(1), remove: z.boolean().optional() }),
  hints: { idempotent: true },
  run: (client, input) => client.call('message.react', input),
})
