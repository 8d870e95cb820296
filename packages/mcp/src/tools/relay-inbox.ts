// relay_inbox: hands out unread messages, which count as read when the agent makes its next call. This file also formats messages of an inbox for the
// other tools.

import { inboxHeading } from '@agent-relay/sdk/internal/injection'
import { shownBodyBytesMax } from '@agent-relay/sdk/internal/long-body'
import { z } from 'zod'
import type { InboxPage, ToolClient } from '../client.ts'
import { bodyForModel, truncateWithNote } from '../text.ts'
import { defineTool, type Tool } from './tool.ts'

/**
 * Maximum bytes of the bodies of several messages in one answer. With a model that it does not know, Codex leaves out the middle of more than 12,000
 * bytes, and Copilot CLI hides more than 20,000: a message in that part would count as read without having been read.
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

export const relayInboxTool: Tool = defineTool({
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

/** Formats messages for a model. A body larger than `bodiesBytesMax` comes in an answer of its own, and is cut if it is still too large. */
export function formatMessagesForModel(messages: InboxPage) {
  return messages.map(({ id, ts, from, to, channel, thread, kind, body }) => ({
    id,
    ts,
    from,
    // `to` is left out of direct messages, whose reader knows it, and of channel messages, which show their channel.
    to: channel === undefined && (to === '*' || typeof to === 'object') ? to : undefined,
    channel,
    thread,
    kind,
    body: truncateWithNote(body, shownBodyBytesMax),
  }))
}

function inboxText(messages: InboxPage, isLookingBack: boolean): string {
  const shown = messages.map(
    (message) => `${inboxHeading(message)}\n${bodyForModel(truncateWithNote(message.content, shownBodyBytesMax))}`,
  )
  const text = truncateWithNote(`${messages.length} message(s):\n\n${shown.join('\n\n---\n\n')}`)
  const { more = 0 } = messages
  if (more === 0) return text
  // The same call without `before` would begin at the newest message again.
  const rest = isLookingBack
    ? `earlier. The same call with before="${messages[0]?.id}" shows them.`
    : 'more. Call relay_inbox again.'
  return `${text}\n\n${more} ${rest}`
}
