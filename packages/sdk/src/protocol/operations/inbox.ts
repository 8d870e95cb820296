// Operations on the caller's own inbox: looking at messages, taking them, marking them as read, and watching for new ones.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { hostRoutes } from '../routes.ts'
import { Address, ChannelName, InboxMessage, Message, MessageId, Thread } from '../words.ts'
import { type OperationTable, pageSizeSchema } from './rule.ts'

const inboxFilter = z.object({
  limit: pageSizeSchema.optional(),
  /** Maximum total size of message bodies in the answer, in UTF-8 bytes. At least one message is always included. */
  bytesMax: z.number().int().min(1).max(limits.pageBytesMax).optional(),
  unreadOnly: z.boolean().optional(),
  /** Lists messages older than this one, whether read or not. With the first message of a page it returns the page before. */
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
    needsNoStoredAgent: 'at inbox',
    byHook: 'by route',
    summary: 'Hand out unread messages, oldest first. They count as read at your next call.',
    input: inboxFilter.extend({
      /**
       * With `hook`, a CLI's hook takes messages for the agent's next turn. Messages that the agent was shown before are left out, a message counts as read
       * only after the hook has reported it as shown, and messages that do not fit into `bytesMax` wait for a later hook.
       */
      route: z.enum(['take', 'hook']).optional(),
      /**
       * For the route `hook`: whether messages that the agent was shown earlier are handed out again, because its session has just begun and has not seen them.
       */
      again: z.boolean().optional(),
      /** For `again`: the time at which the session began, in ms since 1970. Messages shown since then are not handed out again. */
      begun: z.number().optional(),
      /** How long to wait for a message if the inbox is empty, in ms. A new wait of the same agent ends its earlier wait. */
      wait: z.number().int().min(1).max(limits.waitMsMax).optional(),
    }),
    output: inboxPage,
  },
  'inbox.peek': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    needsNoStoredAgent: 'at inbox',
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
    byHook: 'by route',
    summary:
      'Say that messages were shown to you outside any answer, by a hook or a paste. They stay in the inbox until read.',
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
    needsNoStoredAgent: 'at inbox',
    summary: 'How many unread messages a take would hand out now, by kind and by sender or channel.',
    input: z.object({}),
    output: z.object({
      total: z.number(),
      kinds: z.record(z.string(), z.number()),
      sources: z.record(z.string(), z.number()),
      /** The number (`seq`) of the newest message that was counted: a caller that has told its agent about that message need not tell it again. */
      newest: z.number(),
      /** Set if a brief (a summary of the agent's situation, after its model's memory was cut) is due. `agent.brief` returns it. */
      briefDue: z.literal(true).optional(),
    }),
  },
  'inbox.follow': {
    kind: 'watch',
    who: 'agent',
    network: 'open',
    summary: 'Send each message of the inbox as it comes (DELIVER); the receiver marks it read.',
    /** `since`: only messages with a higher `seq`. Unset: also the unread messages that are in the inbox already. */
    input: z.object({ since: z.number().int().min(0).optional() }),
    output: InboxMessage,
  },
} satisfies OperationTable
