// Operations on past messages: conversations with their last message, their history in pages, and the messages of one agent.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { AgentName, Conversation, HistoryMessage, InboxMessage, MessageId } from '../words.ts'
import { type OperationTable, pageSizeSchema } from './rule.ts'

const number = z.number().int().min(0)

export const historyOperations = {
  'conversation.list': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'Your conversations with their last message and what is unread, newest first; all for the key holder.',
    input: z.object({ limit: pageSizeSchema.optional() }),
    output: z.object({ conversations: z.array(Conversation), more: z.number() }),
  },
  'message.list': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'A page of a conversation by its numbers, oldest first; the newest page, if no number is given.',
    input: z
      .object({
        /** The conversation, as conversation.list names it: `#build`, `@Alice,Bob` or `*`. */
        conversation: z.string().min(1).max(limits.conversationCharsMax).optional(),
        /** Only messages whose number in the conversation is lower. */
        before: number.optional(),
        /** Only messages whose number in the conversation is higher. The page begins right after that number. */
        after: number.optional(),
        /** The id of a message, instead of a conversation: returns the page of its conversation with this message in the middle. */
        around: MessageId.optional(),
        limit: pageSizeSchema.optional(),
      })
      .refine(({ conversation, around }) => (conversation === undefined) !== (around === undefined), {
        path: ['conversation'],
        message: 'say which conversation, or around which message',
      }),
    output: z.object({
      conversation: z.string(),
      /** The number of the conversation's last message, which is also the number of its messages, because the numbers have no gaps. */
      last: z.number(),
      /** The number of the journal's last entry when the page was read: events with a higher number happened after the page. */
      seq: z.number(),
      messages: z.array(HistoryMessage),
    }),
  },
  'agent.mail': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: "What waits for an agent, or what it has sent lately: your own, any agent's for the key holder.",
    input: z.object({ agent: AgentName, box: z.enum(['inbox', 'sent']), limit: pageSizeSchema.optional() }),
    output: z.object({ messages: z.array(InboxMessage), more: z.number() }),
  },
} satisfies OperationTable
