// The nouns of the relay as schemas and types. No behaviour.

import { z } from 'zod'
import { isWithinBytes, limits } from './limits.ts'

/** U+0000 is refused: one of the two SQLite drivers reads such text back cut, and no agent means to send it. */
const plainText = z.string().refine((text) => !text.includes('\0'), 'must not contain the character U+0000')
/** For what is printed inside a line: nothing in it can begin another line, steer a terminal or turn the writing around. */
const oneLine = z
  .string()
  .regex(
    /^[^\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u,
    'must be one line without control characters',
  )
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

/** How a message reached its reader. Those of `heldRoutes` hide it from the agent's other sessions for a while. */
export const routes = ['take', 'deliver', 'wait', 'push', 'paste', 'hint', 'hook'] as const
export type Route = (typeof routes)[number]
export const heldRoutes: readonly Route[] = ['take', 'deliver', 'wait']

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
  readAt: z.string().optional(),
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

export const Worker = z.object({
  id: z.string(),
  name: z.string(),
  cli: z.string(),
  model: z.string().optional(),
  /** Who asked for it, and is told how it fares. */
  parent: z.string(),
  cwd: z.string(),
  status: z.enum(workerStates),
  /** Why it is blocked, or how it ended. */
  reason: z.string().optional(),
  pid: z.number().optional(),
  code: z.number().optional(),
  startedAt: z.string(),
  changedAt: z.string(),
})
export type Worker = z.infer<typeof Worker>

export const agentStates = ['active', 'idle', 'offline'] as const
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
  /** Where the daemon runs its program. */
  worker: Worker.pick({ status: true, reason: true }).optional(),
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

/** What went wrong with an invocation; the list is closed. */
export const actionErrorCodes = [
  'invalid_input',
  'invalid_output',
  'permission_denied',
  'unknown_action',
  'provider_offline',
  'timeout',
  'handler_failed',
] as const
export const ActionErrorCode = z.enum(actionErrorCodes)
export type ActionErrorCode = z.infer<typeof ActionErrorCode>

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
export type ActionEnvelope = z.infer<typeof ActionEnvelope>

/** Who calls, from the session's credential; never from arguments. */
export const Caller = z.object({
  type: z.enum(['agent', 'human']),
  id: z.string(),
  name: z.string(),
  handle: z.string().optional(),
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

/** Who carries a run out: the built-in loop, a worker with that CLI, or an agent outside of both. */
export const harnesses = ['loop', 'claude', 'codex', 'opencode', 'gemini', 'external'] as const
export const HarnessName = z.enum(harnesses)
export type HarnessName = z.infer<typeof HarnessName>
export const runStatuses = ['ready', 'running', 'stopped', 'completed'] as const
export const RunState = z.enum(runStatuses)
export type RunState = z.infer<typeof RunState>

/** A contract given to an agent. */
export const Run = z.object({
  id: z.string(),
  /** The agent that carries it out. */
  agent: z.string(),
  /** Who asked for it. */
  parent: z.string(),
  harness: z.string(),
  model: z.string().optional(),
  status: RunState,
  startedAt: z.string(),
  completedAt: z.string().optional(),
  stoppedAt: z.string().optional(),
  stopReason: z.string().optional(),
  summary: z.string().optional(),
  /** Of the payload, uncompressed. */
  payloadSize: z.number().optional(),
  payloadUrl: z.string().optional(),
  /** Why it waits for a person, where its worker does: a dialog. */
  blocked: z.string().optional(),
  /** The end of its output while it runs; of a stopped one, where it is asked for by its id, the last screen of its worker. */
  preview: z.string().optional(),
})
export type Run = z.infer<typeof Run>

/** What a workspace allows beyond what every agent may do. */
export const Policy = z.object({
  /** Whose terminals an agent may see, by its name; `*` stands for all. A parent always sees its own workers. */
  terminal: z.record(AgentName, z.array(z.union([z.literal('*'), AgentName])).max(1_000)),
  /** The workspaces whose key holders may write here, over the network too; `*` stands for all of this daemon. */
  writers: z.union([z.literal('*'), z.array(WorkspaceName).max(1_000)]),
})
export type Policy = z.infer<typeof Policy>

export const Channel = z.object({ name: z.string(), members: z.number(), messages: z.number(), joined: z.boolean() })
export type Channel = z.infer<typeof Channel>
