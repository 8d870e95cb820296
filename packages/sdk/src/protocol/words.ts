// This file holds the nouns of the relay, as schemas and types. It has no behaviour.

import { z } from 'zod'
import { actionErrorCodePattern, isWithinBytes, limits } from './limits.ts'
import { reaches, routes } from './routes.ts'
import { Spend } from './spend.ts'
import { Worktree } from './worktrees.ts'

/** U+0000 is refused: one of the two SQLite drivers reads such text back cut, and no agent means to send it. */
const plainText = z.string().refine((text) => !text.includes('\0'), 'must not contain the character U+0000')
/** For what is printed inside a line: nothing in it can begin another line, steer a terminal or turn the writing around. */
export const oneLinePattern = /^[^\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u
const oneLine = z.string().regex(oneLinePattern, 'must be one line without control characters')
export const Label = oneLine.max(200)
/** It becomes an argument of a program, which would take a dash for an option of its own. */
export const ModelName = Label.min(1).regex(/^[^-]/, 'the name of a model does not start with "-"')

export const agentNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
export const AgentName = z
  .string()
  .regex(agentNamePattern, 'a name is 1 to 64 letters, digits, ".", "_" or "-", and starts with a letter or digit')
export const WorkspaceName = AgentName
/** `#build` or `build`; always stored with its sign. */
export const ChannelName = z
  .string()
  .regex(/^#?[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'a channel is # and 1 to 64 letters, digits, ".", "_" or "-"')
  .transform((name) => (name.startsWith('#') ? name : `#${name}`))
export const MessageId = z.string().min(1).max(limits.idCharsMax)
export const Thread = oneLine.min(1).max(limits.threadCharsMax)
export const Emoji = oneLine.min(1).max(limits.emojiCharsMax)

export const messageKinds = ['status', 'question', 'directive', 'free'] as const
export const MessageKind = z.enum(messageKinds)
export const AgentType = z.enum(['agent', 'human'])
export const AgentRole = z.enum(['lead'])

/** Agent, `#channel`, `*`, or the same behind `workspace:`; `workspace:lead`, `workspace:*` and `*:*` are special. */
const addressRule = 'an address is the name of an agent, "#channel", or "*" for everybody'
export const Address = z.string().min(1, addressRule).max(140, addressRule)
export const Body = plainText
  .min(1, 'a message needs a body')
  .refine((text) => isWithinBytes(text, limits.bodyBytesMax), {
    message: `a message body is at most ${limits.bodyBytesMax / 1024} KiB: write the rest to a file and name it`,
  })

export const ReceiptState = z.enum(['stored', 'offered', 'read'])

export const Message = z.object({
  id: z.string(),
  seq: z.number(),
  ts: z.string(),
  from: z.string(),
  to: z.union([z.string(), z.array(z.string())]),
  channel: z.string().optional(),
  thread: z.string().optional(),
  replyTo: z.string().optional(),
  kind: MessageKind,
  body: z.string(),
})
export type Message = z.infer<typeof Message>

/** A message as its recipient sees it, with what is known of it for that recipient. */
export const InboxMessage = Message.extend({ receipt: ReceiptState, route: z.enum(routes).optional() })
export type InboxMessage = z.infer<typeof InboxMessage>

/** A message as a conversation's history shows it: its number there, and what became of it. */
export const HistoryMessage = Message.extend({
  n: z.number(),
  reactions: z.array(z.object({ emoji: z.string(), agents: z.array(z.string()) })).optional(),
  /** How many of its recipients it was put before, and how many have read it. */
  offered: z.number(),
  read: z.number(),
  /** For the one who asks, where it was addressed to it. */
  receipt: ReceiptState.optional(),
})
export type HistoryMessage = z.infer<typeof HistoryMessage>

/** `last` is without its body: `preview` is the beginning of it. */
export const Conversation = z.object({
  name: z.string(),
  /** Of a pair or group who; of a channel how many. */
  members: z.union([z.number(), z.array(z.string())]),
  messages: z.number(),
  /** Whether the one who asks is in it, and how much it has not read there. */
  joined: z.boolean(),
  unread: z.number(),
  last: Message.omit({ body: true }).extend({ preview: z.string() }).optional(),
})
export type Conversation = z.infer<typeof Conversation>

export const Receipt = z.object({
  agent: z.string(),
  state: ReceiptState,
  storedAt: z.string(),
  offeredAt: z.string().optional(),
  route: z.enum(routes).optional(),
  /** A hook has taken it and has not shown it yet: it is kept from others until then, or until the hook is gone. */
  heldUntil: z.string().optional(),
  readAt: z.string().optional(),
  machine: z.string().optional(),
})
export type Receipt = z.infer<typeof Receipt>

/**
 * wished: not yet started. starting: its process lives, its MCP session does not. ready, then busy or idle in turn. blocked: a dialog is
 * open. paused: stopped on request. exited: for good.
 */
export const workerStates = ['wished', 'starting', 'ready', 'busy', 'idle', 'blocked', 'paused', 'exited'] as const
export type WorkerState = (typeof workerStates)[number]
/** Those that are recorded; busy and idle come and go within seconds and are only shown. */
export type WorkerStatus = Exclude<WorkerState, 'busy' | 'idle'>

/** How the daemon speaks with a worker's program: it types into the terminal and reads the screen, or uses a protocol of the CLI's. */
export const controls = ['pty', 'acp'] as const
export type ControlName = (typeof controls)[number]

export const Worker = z.object({
  id: z.string(),
  name: z.string(),
  cli: z.string(),
  model: z.string().optional(),
  /** Who asked for it, and is told what becomes of it. */
  parent: z.string(),
  cwd: z.string(),
  /** Left out once it was removed. */
  worktree: Worktree.optional(),
  control: z.enum(controls),
  /** unreachable: it runs on another machine, which cannot be asked now. */
  status: z.enum([...workerStates, 'unreachable']),
  /** The other machine that it runs on. */
  machine: z.string().optional(),
  /** While it is unreachable: when its machine was last heard of, where it ever was. */
  machineSeenAt: z.string().optional(),
  /** Why it is blocked, or how it ended. */
  reason: z.string().optional(),
  pid: z.number().optional(),
  code: z.number().optional(),
  startedAt: z.string(),
  changedAt: z.string(),
  /** The id of the worker whose task it was given again. */
  again: z.string().optional(),
  /** What it has used of its model; left out where that is not known. */
  spend: Spend.optional(),
})
export type Worker = z.infer<typeof Worker>

/** unreachable: its machine cannot be asked, so nobody here knows. */
export const agentStates = ['active', 'idle', 'offline', 'unreachable'] as const
/** An agent on another machine that cannot be reached. `since`: when that was last heard of, where it ever was. */
export const Unreachable = z.object({ name: z.string(), machine: z.string(), since: z.string().optional() })
export type Unreachable = z.infer<typeof Unreachable>
/** An agent that is there, and whose program does not let messages in now. */
export const NotReached = z.object({ name: z.string(), why: z.string() })
export type NotReached = z.infer<typeof NotReached>
/** What an agent's program says that it does; `for`: what it waits for. */
export const Doing = z.object({ state: z.enum(['idle', 'busy', 'waiting']), for: z.string().optional() })
export const Agent = z.object({
  id: z.string(),
  name: z.string(),
  type: AgentType,
  cli: z.string().optional(),
  model: z.string().optional(),
  parent: z.string().optional(),
  handle: z.string().optional(),
  role: AgentRole.optional(),
  status: z.enum(agentStates),
  /** Whom it waits for, and since when. */
  waitingFor: z.object({ agent: z.string(), since: z.string() }).optional(),
  unread: z.number(),
  lastCallAt: z.string().optional(),
  /** How a message gets to it; unset while it is offline. */
  reached: z.enum(reaches).optional(),
  /** It may not go on until somebody answers an approval. What it wants to do is told to those who may know it. */
  blocked: z
    .object({
      since: z.string(),
      tool: z.string().optional(),
      input: z.string().optional(),
      /** In words: `wants to run "npm test"`. */
      wants: z.string().optional(),
    })
    .optional(),
  /** Where its program says so. */
  doing: Doing.optional(),
  /** Why it cannot be reached by its program's own door now. */
  notReached: z.string().optional(),
  /** Where the daemon runs its program. */
  worker: Worker.pick({ status: true, reason: true }).optional(),
  /** What it has in hand: its contract, else the task it was hired for. Its first line, unless the whole was asked for; for those who may see it. */
  task: z.string().optional(),
  machine: z.string().optional(),
  /** While it is unreachable: when its machine was last heard of, where it ever was. */
  machineSeenAt: z.string().optional(),
  /** What it has used of its models; told to those who may know it, where it is known. */
  spend: Spend.optional(),
})
export type Agent = z.infer<typeof Agent>

/** What an agent says of itself when it registers. */
export const AgentProfile = z.object({
  name: AgentName,
  type: AgentType.optional(),
  cli: Label.optional(),
  model: Label.optional(),
  parent: AgentName.optional(),
  handle: Label.optional(),
  role: AgentRole.optional(),
  channels: z.array(ChannelName).max(100).optional(),
})
export type AgentProfile = z.infer<typeof AgentProfile>

/** `review.submit_vote`: words of letters, digits and underscores, joined by dots. */
export const ActionName = z
  .string()
  .max(64)
  .regex(
    /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/,
    'an action is named like review.submit_vote: small letters, digits, "_" and dots',
  )
export const JsonSchema = z.record(z.string(), z.unknown())

/** What went wrong with an invocation: a code of the relay's own, or one that the action's handler chose. */
export const ActionErrorCode = z
  .string()
  .regex(
    actionErrorCodePattern,
    'an error code is named like quota_exceeded: up to 64 small letters, digits and "_", a letter first',
  )
export type ActionErrorCode =
  | 'invalid_input'
  | 'invalid_output'
  | 'permission_denied'
  | 'unknown_action'
  | 'provider_offline'
  | 'timeout'
  | 'handler_failed'
  | (string & {}) // Open, and editors still offer the others.

export const ActionInfo = z.object({
  name: z.string(),
  /** Its name as an MCP tool. */
  tool: z.string(),
  description: z.string(),
  inputSchema: JsonSchema,
  outputSchema: JsonSchema.optional(),
  provider: z.string(),
  timeoutMs: z.number(),
})
export type ActionInfo = z.infer<typeof ActionInfo>

/** The result of an invocation, as it reaches the caller. */
export const ActionEnvelope = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), action: z.string(), invocationId: z.string(), output: z.unknown() }),
  z.object({
    ok: z.literal(false),
    action: z.string(),
    invocationId: z.string(),
    error: z.object({ code: ActionErrorCode, message: z.string() }),
  }),
])
type EnvelopeFields = z.infer<typeof ActionEnvelope>
/** `output` and `error` may be read before `ok` is: the one that is not there is undefined. */
export type ActionEnvelope =
  | (Extract<EnvelopeFields, { ok: true }> & { error?: undefined })
  | (Extract<EnvelopeFields, { ok: false }> & { output?: undefined })

/** Who calls, from the session's credential; never from arguments. */
export const Caller = z.object({
  type: z.enum(['agent', 'human']),
  id: z.string(),
  name: z.string(),
  handle: z.string().optional(),
  /** Names one session of the caller's; it cannot be continued with it. */
  sessionId: z.string().optional(),
})
export type Caller = z.infer<typeof Caller>

/** An invocation as its provider gets it. */
export const Invocation = z.object({
  invocation: z.string(),
  action: z.string(),
  input: z.unknown(),
  caller: Caller,
})
export type Invocation = z.infer<typeof Invocation>

/** What a run is asked to do, what it says when it is done, and what it hands over. */
export const Contract = plainText
  .min(1, 'a run needs a contract')
  .refine((text) => isWithinBytes(text, limits.contractBytesMax), {
    message: `a contract is at most ${limits.contractBytesMax / 1024} KiB: write the rest to a file and name it`,
  })
export const Summary = plainText.refine((text) => isWithinBytes(text, limits.summaryBytesMax), {
  message: `a summary is at most ${limits.summaryBytesMax / 1024} KiB: the rest belongs into the payload or a file`,
})
export const Payload = z.string().refine((text) => isWithinBytes(text, limits.payloadBytesMax), {
  message: `a payload is at most ${limits.payloadBytesMax / 1024 / 1024} MiB: write it to a file and name that in the summary`,
})

export const Channel = z.object({ name: z.string(), members: z.number(), messages: z.number(), joined: z.boolean() })
export type Channel = z.infer<typeof Channel>
