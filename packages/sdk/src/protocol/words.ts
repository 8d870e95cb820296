// The nouns of the relay (agent, message, worker, action and others), as schemas and types. No behaviour.

import { z } from 'zod'
import { actionErrorCodePattern, isWithinBytes, limits } from './limits.ts'
import { reaches, routes } from './routes.ts'
import { Spend } from './spend.ts'
import { Worktree } from './worktrees.ts'

/** A text without U+0000: one of the two SQLite drivers cuts such a text when it reads it back, and no agent means to send one. */
const plainText = z.string().refine((text) => !text.includes('\0'), 'must not contain the character U+0000')
/** Matches a text that can be printed inside a line: nothing in it can begin another line, control a terminal or reverse the writing direction. */
export const oneLinePattern = /^[^\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]*$/u
const oneLine = z.string().regex(oneLinePattern, 'must be one line without control characters')
export const Label = oneLine.max(200)
/** The name of a model. It becomes an argument of a program, which would take a leading dash for an option. */
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

/** An address is an agent, `#channel`, `*`, or one of these after `workspace:`; `workspace:lead`, `workspace:*` and `*:*` have meanings of their own. */
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

/** A message as its recipient sees it, with the state of its delivery to this recipient. */
export const InboxMessage = Message.extend({ receipt: ReceiptState, route: z.enum(routes).optional() })
export type InboxMessage = z.infer<typeof InboxMessage>

/** A message as its conversation's history shows it, with its number in the conversation and what became of it. */
export const HistoryMessage = Message.extend({
  n: z.number(),
  reactions: z.array(z.object({ emoji: z.string(), agents: z.array(z.string()) })).optional(),
  /** `offered`: how many recipients the message was put before. `read`: how many have read it. */
  offered: z.number(),
  read: z.number(),
  /** The caller's own receipt. Unset if the message was not addressed to the caller. */
  receipt: ReceiptState.optional(),
})
export type HistoryMessage = z.infer<typeof HistoryMessage>

/** A conversation in a list. `last` is the last message, with `preview`, the beginning of its body, in place of the body. */
export const Conversation = z.object({
  name: z.string(),
  /** The names of the members of a pair or group; for a channel, the number of members. */
  members: z.union([z.number(), z.array(z.string())]),
  messages: z.number(),
  /** `joined`: whether the caller is a member. `unread`: how many messages of the conversation the caller has not read. */
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
  /** Set if a hook has taken the message and not shown it yet: the message is kept from other sessions until this time, or until the hook is gone. */
  heldUntil: z.string().optional(),
  readAt: z.string().optional(),
  machine: z.string().optional(),
})
export type Receipt = z.infer<typeof Receipt>

/**
 * The states of a worker. wished: requested, but not started. starting: its process lives, but its MCP session does not yet. ready, then busy or idle in turn.
 * blocked: a dialog is open. paused: stopped on request. exited: ended for good.
 */
export const workerStates = ['wished', 'starting', 'ready', 'busy', 'idle', 'blocked', 'paused', 'exited'] as const
export type WorkerState = (typeof workerStates)[number]
/** The states of a worker that are stored; busy and idle come and go within seconds and are only shown. */
export type WorkerStatus = Exclude<WorkerState, 'busy' | 'idle'>

/**
 * How the daemon speaks with a worker's program. `pty`: it types into the program's terminal and reads its screen. `acp`: it uses this protocol of the program.
 */
export const controls = ['pty', 'acp'] as const
export type ControlName = (typeof controls)[number]

export const Worker = z.object({
  id: z.string(),
  name: z.string(),
  cli: z.string(),
  model: z.string().optional(),
  /** The agent that asked for the worker, and that is told what becomes of it. */
  parent: z.string(),
  cwd: z.string(),
  /** The worker's own git worktree. Unset if it has none, or once it was removed. */
  worktree: Worktree.optional(),
  control: z.enum(controls),
  /** The worker's state. unreachable: the worker runs on another machine, which cannot be asked at the moment. */
  status: z.enum([...workerStates, 'unreachable']),
  /** The machine on which the worker runs, if it is another one. */
  machine: z.string().optional(),
  /** When the machine of an unreachable worker was last heard of. Unset if it never was. */
  machineSeenAt: z.string().optional(),
  /** Why the worker is blocked, or how it ended. */
  reason: z.string().optional(),
  pid: z.number().optional(),
  code: z.number().optional(),
  startedAt: z.string(),
  changedAt: z.string(),
  /** The id of the earlier worker whose task this worker was given again. */
  again: z.string().optional(),
  /** The tokens and cost of the worker's model. Unset if they are not known. */
  spend: Spend.optional(),
})
export type Worker = z.infer<typeof Worker>

/** The states of an agent. unreachable: its machine cannot be asked, so this machine does not know its state. */
export const agentStates = ['active', 'idle', 'offline', 'unreachable'] as const
/** An agent on a machine that cannot be reached. `since`: when that machine was last heard of; unset if it never was. */
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
  /** The agent that this one waits for, and since when. */
  waitingFor: z.object({ agent: z.string(), since: z.string() }).optional(),
  unread: z.number(),
  lastCallAt: z.string().optional(),
  /** How soon a message reaches the agent. Unset while the agent is offline. */
  reached: z.enum(reaches).optional(),
  /** Set if the agent may not go on until somebody answers an approval. What it wants to do is shown only to those who may know. */
  blocked: z
    .object({
      since: z.string(),
      tool: z.string().optional(),
      input: z.string().optional(),
      /** What the agent wants to do, in words: `wants to run "npm test"`. */
      wants: z.string().optional(),
    })
    .optional(),
  /** What the agent is doing. Unset if its program does not report it. */
  doing: Doing.optional(),
  /** Why the agent cannot be reached through its program's own interface at the moment. Unset if it can. */
  notReached: z.string().optional(),
  /** The state of the agent's program. Unset if the daemon does not run it. */
  worker: Worker.pick({ status: true, reason: true }).optional(),
  /**
   * The agent's contract, or else the task for which it was hired: the first line, or the whole text if that was asked for. Shown only to those who may see it.
   */
  task: z.string().optional(),
  /**
   * Why the agent's worker ended although nobody had asked it to. Unset once the caller has dismissed that; for a caller without a name, once anybody has.
   * Shown only to those who may see the worker.
   */
  failed: z.string().optional(),
  machine: z.string().optional(),
  /** When the machine of an unreachable agent was last heard of. Unset if it never was. */
  machineSeenAt: z.string().optional(),
  /** The tokens and cost of the agent's models, if they are known; shown only to those who may know. */
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
  /** The action's name as an MCP tool, with underscores in place of dots. */
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
/** The result of an action call, as a type whose `output` and `error` may be read before `ok` is checked: the field that does not apply is undefined. */
export type ActionEnvelope =
  | (Extract<EnvelopeFields, { ok: true }> & { error?: undefined })
  | (Extract<EnvelopeFields, { ok: false }> & { output?: undefined })

/** The agent or person that calls an action. The daemon takes this from the session's credential, never from an argument. */
export const Caller = z.object({
  type: z.enum(['agent', 'human']),
  id: z.string(),
  name: z.string(),
  handle: z.string().optional(),
  /** The public id of one of the caller's sessions; it cannot be used to continue the session. */
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

/** The texts of a run: its contract, the summary at its end, and the payload that it hands over. */
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
