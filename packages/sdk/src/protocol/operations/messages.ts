// Operations on messages: sending, reacting, finding, and knowing what became of one.

import { z } from 'zod'
import { limits } from '../limits.ts'
import {
  Address,
  AgentName,
  Body,
  ChannelName,
  Emoji,
  Message,
  MessageId,
  MessageKind,
  NotReached,
  Receipt,
  Thread,
  Unreachable,
} from '../words.ts'
import { type OperationTable, page } from './rule.ts'

const SendInput = z.object({
  /** The recipients. A reply may leave them out, and then goes to where the message it answers was said. */
  to: z.union([Address, z.array(AgentName).min(1).max(limits.groupAgentsMax)]).optional(),
  body: Body,
  thread: Thread.optional(),
  replyTo: MessageId.optional(),
  kind: MessageKind.optional(),
  /** Creates the channel that the message is for, if there is none. */
  create: z.boolean().optional(),
  wait: z.object({ timeoutMs: z.number().int().min(1).max(limits.waitMsMax).optional() }).optional(),
})

const hasRecipient = ({ to, replyTo }: { to?: unknown; replyTo?: unknown }) => to !== undefined || replyTo !== undefined
const noRecipient = { path: ['to'], message: 'say whom it is for, or which message it answers (replyTo)' }

const Sent = z.object({
  id: z.string(),
  seq: z.number(),
  to: z.union([z.string(), z.array(z.string())]),
  /** Direct recipients without a live session: the message waits in their inboxes. */
  away: z.array(z.string()),
  /** Direct recipients on machines that cannot be reached: nobody here knows whether they are there. */
  unreachable: z.array(Unreachable).optional(),
  /** Direct recipients that are there, and are not given messages now, with the reason: the message waits in their inboxes. */
  notReached: z.array(NotReached).optional(),
  /** Workspaces of a wide address that could not take the message. */
  failed: z.array(z.object({ to: z.string(), code: z.string(), message: z.string() })).optional(),
  reply: Message.optional(),
})

/** A send that waits on its sender's machine. */
const Queued = z.object({
  id: z.string(),
  since: z.string(),
  from: z.string(),
  to: z.union([z.string(), z.array(z.string())]),
  body: z.string(),
  kind: MessageKind.optional(),
})

export const messageOperations = {
  'message.send': {
    kind: 'command',
    who: 'agent',
    network: 'lift',
    summary: 'Store a message for an agent, several, a channel or everyone; with `wait`, answer when the reply came.',
    input: SendInput.refine(hasRecipient, noRecipient),
    output: Sent,
  },
  'message.queue': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary:
      'Send a message, or keep it on this machine while its shared workspace cannot be reached: it is sent then, in its order and once.',
    input: SendInput.omit({ wait: true }).refine(hasRecipient, noRecipient),
    output: z.object({
      /** The answer of message.send, where the message is stored. */
      sent: Sent.optional(),
      /** The place in the outbox, where the message is not stored yet. `ahead`: how many messages are sent before it. */
      queued: z.object({ id: z.string(), since: z.string(), ahead: z.number() }).optional(),
    }),
  },
  'outbox.list': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary:
      'Your messages that wait on this machine until the shared workspace can be reached; for the key’s holder, those of all.',
    input: z.object({}),
    /** `preview`: the beginning of the body. */
    output: z.object({ queued: z.array(Queued.omit({ body: true }).extend({ preview: z.string() })) }),
  },
  'outbox.drop': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Take a message that waits out of the outbox. It is not sent.',
    input: z.object({ id: z.string().max(limits.idCharsMax) }),
    output: Queued,
  },
  'message.react': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Put an emoji on a message, or take it off.',
    input: z.object({ message: MessageId, emoji: Emoji, remove: z.boolean().optional() }),
    output: z.object({ message: z.string() }),
  },
  'message.thread': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'The messages of a thread that you may see, oldest first.',
    input: z.object({
      thread: Thread,
      /** Only messages with a higher `seq`. */
      after: z.number().int().min(0).optional(),
      limit: page.optional(),
    }),
    output: z.object({
      messages: z.array(Message),
      more: z.number(),
      /** The number to go on from, as `after: next`: the page was full, or took long. Nothing is left, if it is missing. */
      next: z.number().optional(),
    }),
  },
  'message.search': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'Full-text search over the bodies you may see, newest first.',
    input: z.object({
      text: z.string().min(1).max(limits.searchCharsMax),
      limit: page.optional(),
      from: Address.optional(),
      channel: ChannelName.optional(),
      /** Only messages with a lower `seq`. */
      before: z.number().int().min(1).optional(),
    }),
    output: z.object({
      messages: z.array(Message),
      more: z.number(),
      /** The number to go on from, as `before: next`: the page was full, or took long. Nothing is left, if it is missing. */
      next: z.number().optional(),
    }),
  },
  'message.receipts': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'For each recipient of a message you sent or received: stored, offered or read, with times.',
    input: z.object({ message: MessageId }),
    output: z.object({ message: z.string(), receipts: z.array(Receipt) }),
  },
} satisfies OperationTable
