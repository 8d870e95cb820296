// Operations on messages: sending, reacting, searching, and reading what became of a message.

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
import { type OperationTable, pageSizeSchema } from './rule.ts'

const SendInput = z.object({
  /** The recipients. May be unset in a reply, which then goes to the conversation of the message in `replyTo`. */
  to: z.union([Address, z.array(AgentName).min(1).max(limits.groupAgentsMax)]).optional(),
  body: Body,
  thread: Thread.optional(),
  replyTo: MessageId.optional(),
  kind: MessageKind.optional(),
  /** Whether to create the channel to which the message goes, if the channel does not exist. */
  create: z.boolean().optional(),
  wait: z.object({ timeoutMs: z.number().int().min(1).max(limits.waitMsMax).optional() }).optional(),
})

const hasRecipient = ({ to, replyTo }: { to?: unknown; replyTo?: unknown }) => to !== undefined || replyTo !== undefined
const noRecipient = { path: ['to'], message: 'say whom it is for, or which message it answers (replyTo)' }

const Sent = z.object({
  id: z.string(),
  seq: z.number(),
  to: z.union([z.string(), z.array(z.string())]),
  /** Recipients, named directly, that are not connected. The message waits in their inboxes. */
  away: z.array(z.string()),
  /** Recipients, named directly, on machines that cannot be reached, so that this machine does not know whether they are connected. */
  unreachable: z.array(Unreachable).optional(),
  /** Recipients, named directly, that are connected but cannot be shown messages at the moment, with the reason. The message waits in their inboxes. */
  notReached: z.array(NotReached).optional(),
  /** For a message to several workspaces: those that did not take it, with the reason. */
  failed: z.array(z.object({ to: z.string(), code: z.string(), message: z.string() })).optional(),
  reply: Message.optional(),
})

/** A message that waits on its sender's machine until it can be sent. */
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
      /** The result of sending, as of `message.send`. Unset if the message is not stored yet. */
      sent: Sent.optional(),
      /** The message's place in the outbox. Unset if the message was sent. `ahead`: the number of messages that will be sent before it. */
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
    /** `preview` is the beginning of the message's body. */
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
      /** Only messages with a higher journal number (`seq`). */
      after: z.number().int().min(0).optional(),
      limit: pageSizeSchema.optional(),
    }),
    output: z.object({
      messages: z.array(Message),
      more: z.number(),
      /** The number to pass as `after` to continue: the page was full or took too long. Unset if no message is left. */
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
      limit: pageSizeSchema.optional(),
      from: Address.optional(),
      channel: ChannelName.optional(),
      /** Only messages with a lower journal number (`seq`). */
      before: z.number().int().min(1).optional(),
    }),
    output: z.object({
      messages: z.array(Message),
      more: z.number(),
      /** The number to pass as `before` to continue: the page was full or took too long. Unset if no message is left. */
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
