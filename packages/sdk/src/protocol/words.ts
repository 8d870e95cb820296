// The nouns of the relay, as schemas and types. No behaviour.

import { z } from 'zod'
import { actionErrorCodePattern, isWithinBytes, limits } from './limits.ts'
import { reaches, routes } from './routes.ts'
import { Spend } from './spend.ts'
import { Worktree } from './worktrees.ts'

/** U+0000 is refused: one of the two SQLite drivers reads such text back cut, and no agent means to send it. */
const plainText = z.string().refine((text) => !text.includes('\0'), 'must not contain the character U+0000')
/** A text that is printed inside a line: nothing in it can begin another line, steer a terminal or turn the writing around. */
export const oneLinePattern = /^[^\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u
const oneLine = z.string().regex(oneLinePattern, 'must be one line without control characters')
export const Label = oneLine.max(200)
/** The name of a model becomes an argument of a program, which would take a dash for an option of its own. */
export const ModelName = Label.min(1).regex(/^[^-]/, 'the name of a model does not start with "-"')

export const agentNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/
export const AgentName = z
  .string()
  .regex(agentNamePattern, 'a name is 1 to 64 letters, digits, ".", "_" or "-", and starts with a letter or digit')
export const WorkspaceName = AgentName
/** A channel's name, as `#build` or `build`; always stored with the `#`. */
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

/** An agent, `#channel`, `*`, or one of these behind `workspace:`; `workspace:lead`, `workspace:*` and `*:*` are special. */
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
  /** The number of recipients that the message was put before, and of those that have read it. */
  offered: z.number(),
  read: z.number(),
  /** The caller's own receipt, where the message was addressed to the caller. */
  receipt: ReceiptState.optional(),
})
export type HistoryMessage = z.infer<typeof HistoryMessage>

/** A conversation as lists show it. `last` is without its body: `preview` is the beginning of it. */
export const Conversation = z.object({
  name: z.string(),
  /** The names in a pair or group; the number of members of a channel. */
  members: z.union([z.number(), z.array(z.string())]),
  messages: z.number(),
  /** Whether the caller is in the conversation, and how many messages it has not read there. */
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
  /** A hook has taken the message and has not shown it yet: it is kept from others until then, or until the hook is gone. */
  heldUntil: z.string().optional(),
  readAt: z.string().optional(),
  machine: z.string().optional(),
})
export type Receipt = z.infer<typeof Receipt>

/**
 * The states of a worker. wished: not yet started. starting: its process lives, its MCP session does not. ready, then busy or idle in turn. blocked: a dialog
 * is open. paused: stopped on request. exited: for good.
 */
export const workerStates = ['wished', 'starting', 'ready', 'busy', 'idle', 'blocked', 'paused', 'exited'] as const
export type WorkerState = (typeof workerStates)[number]
/** The states that are recorded; busy and idle come and go within seconds and are only shown. */
export type WorkerStatus = Exclude<WorkerState, 'busy' | 'idle'>

/** The ways in which the daemon speaks with a worker's program: `pty` types into the terminal and reads the screen, `acp` is a protocol of the CLI's. */
export const controls = ['pty', 'acp'] as const
export type ControlName = (typeof controls)[number]

export const Worker = z.object({
  id: z.string(),
  name: z.string(),
  cli: z.string(),
  model: z.string().optional(),
  /** The agent that asked for the worker, and is told what becomes of it. */
  parent: z.string(),
  cwd: z.string(),
  /** The worker's own checkout; left out once it was removed. */
  worktree: Worktree.optional(),
  control: z.enum(controls),
  /** The worker's status. unreachable: it runs on another machine, which cannot be asked now. */
  status: z.enum([...workerStates, 'unreachable']),
  /** The other machine that the worker runs on. */
  machine: z.string().optional(),
  /** When the machine of an unreachable worker was last heard of, where it ever was. */
  machineSeenAt: z.string().optional(),
  /** Why the worker is blocked, or how it ended. */
  reason: z.string().optional(),
  pid: z.number().optional(),
  code: z.number().optional(),
  startedAt: z.string(),
  changedAt: z.string(),
  /** The id of the earlier worker whose task this one was given again. */
  again: z.string().optional(),
  /** The tokens and cost of the worker's model; left out where they are not known. */
  spend: Spend.optional(),
})
export type Worker = z.infer<typeof Worker>

/** The states of an agent. unreachable: its machine cannot be asked, so nobody here knows. */
export const agentStates = ['active', 'idle', 'offline', 'unreachable'] as const
/** An agent on another machine that cannot be reached. `since`: when the machine was last heard of, where it ever was. */
export const Unreachable = z.object({ name: z.string(), machine: z.string(), since: z.string().optional() })
export type Unreachable = z.infer<typeof Unreachable>
/** An agent that is there, and whose program does not let messages in now. */
export const NotReached = z.object({ name: z.string(), why: z.string() })
export type NotReached = z.infer<typeof NotReached>
/** The activity that an agent's program reports; `for`: what it waits for. */
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
  /** The agent that this one waits for, and since when. */
  waitingFor: z.object({ agent: z.string(), since: z.string() }).optional(),
  unread: z.number(),
  lastCallAt: z.string().optional(),
  /** How a message gets to the agent; unset while it is offline. */
  reached: z.enum(reaches).optional(),
  /** The agent may not go on until somebody answers an approval. Its wish is told to those who may know it. */
  blocked: z
    .object({
      since: z.string(),
      tool: z.string().optional(),
      input: z.string().optional(),
      /** The wish in words: `wants to run "npm test"`. */
      wants: z.string().optional(),
    })
    .optional(),
  /** The agent's activity, where its program reports it. */
  doing: Doing.optional(),
  /** Why the agent cannot be reached by its program's own interface now. */
  notReached: z.string().optional(),
  /** The status of the agent's program, where the daemon runs it. */
  worker: Worker.pick({ status: true, reason: true }).optional(),
  /** The agent's contract, else the task it was hired for. The first line, unless the whole was asked for; for those who may see it. */
  task: z.string().optional(),
  machine: z.string().optional(),
  /** When the machine of an unreachable agent was last heard of, where it ever was. */
  machineSeenAt: z.string().optional(),
  /** The tokens and cost of the agent's models; told to those who may know it, where it is known. */
  spend: Spend.optional(),
})
export type Agent = z.infer<typeof Agent>

/** The profile that an agent gives when it registers. */
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

/** An action's name, such as `review.submit_vote`: words of letters, digits and underscores, joined by dots. */
export const ActionName = z
  .string()
  .max(64)
  .regex(
    /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/,
    'an action is named like review.submit_vote: small letters, digits, "_" and dots',
  )
export const JsonSchema = z.record(z.string(), z.unknown())

/** The error of an invocation: a code of the relay's own, or one that the action's handler chose. */
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
  | (string & {}) // Any other code, while editors still offer those above.

export const ActionInfo = z.object({
  name: z.string(),
  /** The action's name as an MCP tool. */
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
/** The result, as a type whose `output` and `error` may be read before `ok` is: the one that is not there is undefined. */
export type ActionEnvelope =
  | (Extract<EnvelopeFields, { ok: true }> & { error?: undefined })
  | (Extract<EnvelopeFields, { ok: false }> & { output?: undefined })

/** The caller of an action, as the session's credential says, never as an argument says. */
export const Caller = z.object({
  type: z.enum(['agent', 'human']),
  id: z.string(),
  name: z.string(),
  handle: z.string().optional(),
  /** The public id of one session of the caller's; nobody can continue the session with it. */
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

/** The texts of a run: its contract, its summary when it is done, and the payload that it hands over. */
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
