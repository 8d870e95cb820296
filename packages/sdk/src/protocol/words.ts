// The nouns of the relay (agent, message, worker, action and others), as schemas and types. No behaviour.

import { z } from 'zod'
import { actionErrorCodePattern, isWithinBytes, limits } from './limits.ts'
import { reaches, routes } from './routes.ts'
import { Spend } from './spend.ts'
import { Worktree } from './worktrees.ts'

/** A text without the character U+0000, which one of the two SQLite drivers would cut the text at when it reads it. */
const plainText = z.string().refine((text) => !text.includes('\0'), 'must not contain the character U+0000')
/** Matches a text that can be printed inside a line: it contains no line break, no control character, and no character that reverses the writing direction. */
export const oneLinePattern = /^[^\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u
const oneLine = z.string().regex(oneLinePattern, 'must be one line without control characters')
export const Label = oneLine.max(200)
/** The name of a model. It becomes an argument of a CLI, and the CLI would take a leading dash for an option. */
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

/**
 * An address is an agent, `#channel`, `*`, or one of these after `workspace:`. The addresses `workspace:lead`, `workspace:*` and `*:*` have meanings of their
 * own.
 */
const addressRule = 'an address is the name of an agent, "#channel", or "*" for everybody'
export const Address = z.string().min(1, addressRule).max(limits.addressCharsMax, addressRule)
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

/** A message as its recipient sees it, with its receipt for this recipient. */
export const InboxMessage = Message.extend({ receipt: ReceiptState, route: z.enum(routes).optional() })
export type InboxMessage = z.infer<typeof InboxMessage>

/** A message in the history of its conversation, with its number there, its reactions, and its receipts. */
export const HistoryMessage = Message.extend({
  n: z.number(),
  reactions: z.array(z.object({ emoji: z.string(), agents: z.array(z.string()) })).optional(),
  /** `offered`: the number of recipients that were shown the message. `read`: the number of recipients that have read it. */
  offered: z.number(),
  read: z.number(),
  /** The caller's own receipt. Unset if the message was not addressed to the caller. */
  receipt: ReceiptState.optional(),
})
export type HistoryMessage = z.infer<typeof HistoryMessage>

/** A conversation in a list. `last`: its last message, with `preview` (the beginning of the body) instead of the body. */
export const Conversation = z.object({
  name: z.string(),
  /** For a pair or group, the names of its members. For a channel, the number of members. */
  members: z.union([z.number(), z.array(z.string())]),
  messages: z.number(),
  /** `joined`: whether the caller is a member. `unread`: the number of messages in the conversation that the caller has not read. */
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
  /**
   * Set if a hook has taken the message and not shown it yet. The agent's other sessions do not get the message until this time, or until the hook has ended.
   */
  heldUntil: z.string().optional(),
  readAt: z.string().optional(),
  machine: z.string().optional(),
})
export type Receipt = z.infer<typeof Receipt>

/**
 * The states of a worker. wished: requested, but not started. starting: its program runs, but has not connected to the relay yet. ready: connected; then busy
 * or idle. blocked: a dialog in its terminal waits for a person. paused: stopped on request. exited: ended.
 */
export const workerStates = ['wished', 'starting', 'ready', 'busy', 'idle', 'blocked', 'paused', 'exited'] as const
export type WorkerState = (typeof workerStates)[number]
/** The states of a worker that are stored. busy and idle change within seconds and are not stored. */
export type WorkerStatus = Exclude<WorkerState, 'busy' | 'idle'>

/** How the daemon talks to a worker's program. pty: it types into the program's terminal and reads the screen. acp: by the Agent Client Protocol. */
export const workerControls = ['pty', 'acp'] as const
export type WorkerControlName = (typeof workerControls)[number]

export const Worker = z.object({
  id: z.string(),
  name: z.string(),
  cli: z.string(),
  model: z.string().optional(),
  /** The agent that asked for the worker. It is told what becomes of the worker. */
  parent: z.string(),
  cwd: z.string(),
  /** The worker's own git worktree. Unset if it has none, or if the worktree was removed. */
  worktree: Worktree.optional(),
  control: z.enum(workerControls),
  /** The worker's state. unreachable: the worker runs on another machine, which does not answer at the moment. */
  status: z.enum([...workerStates, 'unreachable']),
  /** The machine on which the worker runs. Unset if it is this one. */
  machine: z.string().optional(),
  /** For an unreachable worker: the time of the last sign of life from its machine. Unset if there was none. */
  machineSeenAt: z.string().optional(),
  /** Why the worker is blocked, or how it ended. */
  reason: z.string().optional(),
  pid: z.number().optional(),
  code: z.number().optional(),
  startedAt: z.string(),
  changedAt: z.string(),
  /** The id of the earlier worker whose task this worker was given again. Unset: it has a task of its own. */
  again: z.string().optional(),
  /** The tokens and cost of the worker's model. Unset if they are unknown. */
  spend: Spend.optional(),
})
export type Worker = z.infer<typeof Worker>

/** The states of an agent. unreachable: its machine does not answer, so the agent's state is unknown. */
export const agentStates = ['active', 'idle', 'offline', 'unreachable'] as const
/** An agent on a machine that cannot be reached. `since`: the time of the last sign of life from that machine; unset if there was none. */
export const Unreachable = z.object({ name: z.string(), machine: z.string(), since: z.string().optional() })
export type Unreachable = z.infer<typeof Unreachable>
/** An agent that is connected, but whose program accepts no messages at the moment. */
export const NotReached = z.object({ name: z.string(), why: z.string() })
export type NotReached = z.infer<typeof NotReached>
/** What an agent's program reports about its activity. `for`: what the agent waits for. */
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
  /** The agent from which this agent awaits an answer, and since when. */
  waitingFor: z.object({ agent: z.string(), since: z.string() }).optional(),
  unread: z.number(),
  lastCallAt: z.string().optional(),
  /** How soon the agent sees a message. Unset while the agent is offline. */
  reached: z.enum(reaches).optional(),
  /** Set if the agent cannot go on until somebody answers an approval. Only callers that may see the approval see what the agent wants to do. */
  blocked: z
    .object({
      since: z.string(),
      tool: z.string().optional(),
      input: z.string().optional(),
      /** What the agent wants to do, as a phrase: `wants to run "npm test"`. */
      wants: z.string().optional(),
    })
    .optional(),
  /** What the agent is doing. Unset if its program does not report it. */
  doing: Doing.optional(),
  /** Why the agent's program accepts no messages at the moment. Unset if it does. */
  notReached: z.string().optional(),
  /** The state of the worker, if the daemon runs the agent's program. Otherwise unset. */
  worker: Worker.pick({ status: true, reason: true }).optional(),
  /** The agent's contract, or else its task as a worker: the first line, or the whole text if the caller asked for it. Set only for callers that may see it. */
  task: z.string().optional(),
  /**
   * Why the agent's worker ended without being asked to. Unset once the caller has dismissed this (for a caller without a name, once anybody has). Set only for
   * callers that may see the worker.
   */
  failed: z.string().optional(),
  machine: z.string().optional(),
  /** For an unreachable agent: the time of the last sign of life from its machine. Unset if there was none. */
  machineSeenAt: z.string().optional(),
  /** The tokens and cost of the agent's models. Unset if they are unknown, or if the caller may not see them. */
  spend: Spend.optional(),
})
export type Agent = z.infer<typeof Agent>

/** What an agent says about itself when it registers. */
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

/** The error code of an action call: one of the relay's own codes, or one that the action's handler chose. */
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
  | (string & {}) // Any other code; written so that editors still suggest the codes above.

export const ActionInfo = z.object({
  name: z.string(),
  /** The name of the MCP tool for the action: the action's name with underscores for dots. */
  tool: z.string(),
  description: z.string(),
  inputSchema: JsonSchema,
  outputSchema: JsonSchema.optional(),
  provider: z.string(),
  timeoutMs: z.number(),
})
export type ActionInfo = z.infer<typeof ActionInfo>

/** The result of an action call, as its caller gets it. */
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
/** The result of an action call, as a type that lets code read `output` and `error` before it checks `ok`: the one that does not apply is undefined. */
export type ActionEnvelope =
  | (Extract<EnvelopeFields, { ok: true }> & { error?: undefined })
  | (Extract<EnvelopeFields, { ok: false }> & { output?: undefined })

/** The agent or person that calls an action. The daemon knows the caller from the session's credential; the call's input cannot change it. */
export const Caller = z.object({
  type: z.enum(['agent', 'human']),
  id: z.string(),
  name: z.string(),
  handle: z.string().optional(),
  /** The public id of the caller's session, or of one of its sessions. Unlike the session's secret it gives no rights. */
  sessionId: z.string().optional(),
})
export type Caller = z.infer<typeof Caller>

/** A call of an action, as the program that offers the action gets it. */
export const Invocation = z.object({
  invocation: z.string(),
  action: z.string(),
  input: z.unknown(),
  caller: Caller,
})
export type Invocation = z.infer<typeof Invocation>

/** The texts of a run: its contract, the summary at its end, and the payload (the result that it hands over). */
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
