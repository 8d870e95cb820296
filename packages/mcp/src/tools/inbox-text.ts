// How messages of an inbox are shown to a model, by every tool that hands some out.

import { z } from 'zod'
import type { InboxPage } from '../client.ts'
import { cut, indented, threadText } from '../text.ts'

/** Bodies per answer; headers and indentation need the rest of `answerBytesMax`. */
export const bodiesBytesMax = 24 * 1024

export const inboxOutput = {
  messages: z.array(
    z.object({
      id: z.string(),
      ts: z.string(),
      from: z.string(),
      channel: z.string().optional(),
      thread: z.string().optional(),
      kind: z.string(),
      body: z.string(),
    }),
  ),
  more: z.number(),
}

export function shownMessages(messages: InboxPage) {
  return messages.map(({ id, ts, from, channel, thread, kind, body }) => ({
    id,
    ts,
    from,
    channel,
    thread,
    kind,
    body,
  }))
}

/** `tool` hands out the rest. */
export function inboxText(messages: InboxPage, more: number, tool: string): string {
  if (messages.length === 0) return 'No messages in inbox.'
  const shown = messages.map((message) => {
    const channel = message.channel ? ` [${message.channel}]` : ''
    const thread = message.thread ? ` (thread: ${threadText(message.thread)})` : ''
    return `[${message.id}] From ${message.from}${channel}${thread}:\n${indented(message.content)}`
  })
  const text = cut(`${messages.length} message(s):\n\n${shown.join('\n\n---\n\n')}`)
  return more > 0 ? `${text}\n\n${more} more. Call ${tool} again.` : text
}
