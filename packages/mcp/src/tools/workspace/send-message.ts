// send_message: to a channel, to one agent, to a group of agents, or into a thread.

import { RelayError } from '@agent-relay/sdk'
import { messageKinds } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { addressOf } from '../../client.ts'
import { workspaceTool } from './tool.ts'

export const sentOutput = {
  id: z.string(),
  to: z.union([z.string(), z.array(z.string())]),
  away: z.array(z.string()),
}

export const sendMessageTool = workspaceTool({
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
  output: sentOutput,
  hints: {},
  run: async (client, { to, channel, text, thread, kind }) => {
    if ((to === undefined) === (channel === undefined))
      throw new RelayError('Say whom it is for: either to or channel.', { code: 'input.invalid' })
    const address = to === undefined ? channelAddress(channel as string) : typeof to === 'string' ? addressOf(to) : to
    return sentAnswer(await client.call('message.send', { to: address, body: text, thread, kind }))
  },
})

function channelAddress(channel: string): string {
  return channel.startsWith('#') ? channel : `#${channel}`
}

export function sentAnswer({ id, to, away }: { id: string; to: string | string[]; away: string[] }) {
  const whom = typeof to === 'string' ? to : to.join(', ')
  const waits = away.length === 0 ? '' : ` Away, so it waits there: ${away.join(', ')}.`
  return { text: `Message sent to ${whom} [${id}].${waits}`, id, to, away }
}
