// Operations on the caller's own inbox: looking, taking, marking messages as read, being told of new messages.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { hostRoutes } from '../routes.ts'
import { Address, ChannelName, InboxMessage, Message, MessageId, Thread } from '../words.ts'
import { type OperationTable, pageSizeSchema } from './rule.ts'

const inboxFilter = z.object({
  limit: pageSizeSchema.optional(),
  /** The most bytes of message bodies in the answer; at least one message is always handed out. */
  bytesMax: z.number().int().min(1).max(limits.pageBytesMax).optional(),
  unreadOnly: z.boolean().optional(),
  /** Lists what came before this message, as with `unreadOnly: false`: with the first message of a page it returns the page before. */
  before: MessageId.optional(),
  from: Address.optional(),
  channel: ChannelName.optional(),
  thread: Thread.optional(),
})
const inboxPage = z.object({ messages: z.array(InboxMessage), more: z.number() })
export const inboxOperations = {
  'inbox.take': {
    kind: 'command',
    who: 'agent',
    network: 'lift',
    looks: 'at inbox',
    byHost: 'by route',
    summary: 'Hand out unread messages, oldest first. They count as read at your next call.',
    input: inboxFilter.extend({
      /**
       * `hook`: takes messages for the agent's next turn. Messages that were already put before the agent are left out, none counts as read before it is
       * offered, and messages that do not fit into `bytesMax` wait for a hook event that has room.
       */
      route: z.enum(['take', 'hook']).optional(),
      /** With the route `hook`: whether messages that were put before the agent earlier are handed out again, for a session that has just begun. */
      again: z.boolean().optional(),
      /** With `again`: when the session began, in ms since 1970. The session has seen the messages that were put before the agent since then. */
      begun: z.number().optional(),
      /** How long `inbox.take` waits for a message if the inbox is empty, in ms. A new wait of the same agent ends its earlier wait. */
      wait: z.number().int().min(1).max(limits.waitMsMax).optional(),
    }),
    output: inboxPage,
  },
  'inbox.peek': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    looks: 'at inbox',
    summary: 'Look at the inbox; nothing is handed out.',
    input: inboxFilter,
    output: inboxPage,
  },
  'inbox.read': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Mark messages, or all of a thread, as read.',
    input: z.object({ messages: z.array(MessageId).max(limits.pageMessagesMax).optional(), thread: Thread.optional() }),
    output: z.object({ read: z.number() }),
  },
  'inbox.offer': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    byHost: 'by route',
    summary:
      'Say that messages were put before you outside any answer, by a hook or a paste. They stay in the inbox until read.',
    input: z.object({
      messages: z.array(MessageId).min(1).max(limits.pageMessagesMax),
      route: z.enum(['push', 'paste', ...hostRoutes]),
    }),
    output: z.object({ offered: z.number() }),
  },
  'inbox.owed': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary:
      'The messages to which you still owe an answer, newest first: direct questions, and whatever somebody waits for now.',
    input: z.object({ limit: pageSizeSchema.optional() }),
    output: z.object({ messages: z.array(Message), more: z.number() }),
  },
  'inbox.count': {
    kind: 'query',
    who: 'agent',
    network: 'lift',
    looks: 'at inbox',
    summary: 'How many unread messages a take would hand out now, by kind and by sender or channel.',
    input: z.object({}),
    output: z.object({
      total: z.number(),
      kinds: z.record(z.string(), z.number()),
      sources: z.record(z.string(), z.number()),
      /** The number of the newest of the counted messages: a caller that has already told its agent about this message need not tell it again. */
      newest: z.number(),
      /** Set if a brief (a summary of the agent's situation) is due, which `agent.brief` returns. */
      briefDue: z.literal(true).optional(),
    }),
  },
  'inbox.follow': {
    kind: 'watch',
    who: 'agent',
    network: 'open',
    summary: 'Send each message of the inbox as it comes (DELIVER); the receiver marks it read.',
    /** `since`: only messages with a higher `seq`. Unset: the messages that already wait are sent first. */
    input: z.object({ since: z.number().int().min(0).optional() }),
    output: InboxMessage,
  },
} satisfies OperationTable
