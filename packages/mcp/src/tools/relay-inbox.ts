// relay_inbox: hands out unread messages. They count as read when the agent comes back with its next call. Also how
// every tool that hands out messages of an inbox shows them to a model.

import { inboxHeading } from '@agent-relay/sdk/internal/injection'
import { shownBodyBytesMax } from '@agent-relay/sdk/internal/long-body'
import { z } from 'zod'
import type { InboxPage, ToolClient } from '../client.ts'
import { bodyForModel, cut } from '../text.ts'
import { type Tool, tool } from './tool.ts'

/**
 * Bodies of several messages in one answer. Codex leaves out the middle of what is longer than 12,000 bytes, with a model that it does not
 * know, and Copilot CLI hides what is longer than 20,000: a message in there would count as read, and nobody would have read it.
 */
export const bodiesBytesMax = 10_000

export const relayInboxSchema = z.object({
  limit: z.number().int().min(1).max(100).optional().default(10).describe('Max messages to return'),
  unread_only: z.boolean().optional().default(true).describe('Only unread messages'),
  from: z.string().optional().describe('Only from this sender'),
  channel: z.string().optional().describe('Only from this channel'),
  before: z.string().optional().describe('Read ones too, before this message id'),
})
export type RelayInboxInput = z.input<typeof relayInboxSchema>

export const relayInboxTool: Tool = tool({
  name: 'relay_inbox',
  title: 'Read your inbox',
  description: 'Get messages sent to you directly, to your channels or to everyone.',
  input: relayInboxSchema,
  hints: {},
  showsInbox: true,
  run: handleRelayInbox,
})

export async function handleRelayInbox(client: Pick<ToolClient, 'getInbox'>, input: RelayInboxInput): Promise<string> {
  const isLookingBack = input.unread_only === false || input.before !== undefined
  const messages = await client.getInbox({ ...input, unread_only: !isLookingBack, bytesMax: bodiesBytesMax })
  if (messages.length === 0) return input.before === undefined ? 'No messages in inbox.' : 'No earlier messages.'
  return inboxText(messages, isLookingBack)
}

/** A body that is larger than several together may be comes alone, and is cut. */
export function shownMessages(messages: InboxPage) {
  return messages.map(({ id, ts, from, to, channel, thread, kind, body }) => ({
    id,
    ts,
    from,
    // Its reader alone is no news, and of a channel's message the channel is told.
    to: channel === undefined && (to === '*' || typeof to === 'object') ? to : undefined,
    channel,
    thread,
    kind,
    body: cut(body, shownBodyBytesMax),
  }))
}

function inboxText(messages: InboxPage, isLookingBack: boolean): string {
  const shown = messages.map(
    (message) => `${inboxHeading(message)}\n${bodyForModel(cut(message.content, shownBodyBytesMax))}`,
  )
  const text = cut(`${messages.length} message(s):\n\n${shown.join('\n\n---\n\n')}`)
  const { more = 0 } = messages
  if (more === 0) return text
  // Looking back begins at the newest again, unless it is told where to go on.
  const rest = isLookingBack
    ? `earlier. The same call with before="${messages[0]?.id}" shows them.`
    : 'more. Call relay_inbox again.'
  return `${text}\n\n${more} ${rest}`
}
