// Operations on one's own inbox: looking, taking, marking messages read, being told of new ones.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { hostRoutes } from '../routes.ts'
import { Address, ChannelName, InboxMessage, Message, MessageId, Thread } from '../words.ts'
import { type OperationTable, page } from './rule.ts'

const inboxFilter = z.object({
  limit: page.optional(),
  /** Stop before this many bytes of bodies; one message is always handed out. */
  bytesMax: z.number().int().min(1).max(limits.pageBytesMax).optional(),
  unreadOnly: z.boolean().optional(),
  /** Look back, as with `unreadOnly: false`, at what came before this message: the first one of a page leads to the page before. */
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
       * `hook`: for the agent's next turn. Messages that were put before it already are left out, nothing counts as read until it is offered, and what does
       * not fit into `bytesMax` waits for an event that has room.
       */
      route: z.enum(['take', 'hook']).optional(),
      /** With the route `hook`: also hands out messages that were put before the agent earlier, for a session that has just begun. */
      again: z.boolean().optional(),
      /** The time when a session that says `again` began, in ms. It has seen the messages that were put before the agent since then. */
      begun: z.number().optional(),
      /** The time to wait for a message where there is none, in ms. An agent's newest wait ends its earlier one. */
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
    input: z.object({ limit: page.optional() }),
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
      /** The number of the newest of these messages: a caller who has told of it needs not tell again. */
      newest: z.number(),
      /** A brief is due: `agent.brief` has it. */
      briefDue: z.literal(true).optional(),
    }),
  },
  'inbox.follow': {
    kind: 'watch',
    who: 'agent',
    network: 'open',
    summary: 'Send each message of the inbox as it comes (DELIVER); the receiver marks it read.',
    /** `since`: only messages with a higher `seq`. Without it, messages that wait already are sent first. */
    input: z.object({ since: z.number().int().min(0).optional() }),
    output: InboxMessage,
  },
} satisfies OperationTable
