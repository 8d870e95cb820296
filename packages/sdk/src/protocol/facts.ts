// What can happen, one type each. Facts are decided in core/, written once to the journal and shown to watchers as events.
// A fact never carries a message body (the immutable message row does) and never changes its meaning: a new meaning is a new type.

import type { ActionErrorCode, AgentProfile, HarnessName, Message, Policy, Route, WorkerStatus } from './words.ts'

/** The first fact of a workspace. */
export interface WorkspaceBegan {
  type: 'workspace.began'
  id: string
}
/** Only the hash of a key is ever written; a new key ends the one before. */
export interface WorkspaceKeyIssued {
  type: 'workspace.key-issued'
  hash: string
}
/** The whole policy, as it holds from now on. */
export interface WorkspacePolicySet {
  type: 'workspace.policy-set'
  policy: Policy
}
export interface AgentRegistered {
  type: 'agent.registered'
  id: string
  agent: Omit<AgentProfile, 'channels'>
}
export interface AgentUpdated {
  type: 'agent.updated'
  agent: Omit<AgentProfile, 'channels'>
}
/** Only the hash of a token is ever written. It is valid before `until` (milliseconds); for good, if left out. */
export interface AgentTokenIssued {
  type: 'agent.token-issued'
  agent: string
  hash: string
  until?: number
}
/** All tokens that the agent had until now. */
export interface AgentTokensRevoked {
  type: 'agent.tokens-revoked'
  agent: string
}
export interface ChannelCreated {
  type: 'channel.created'
  channel: string
}
/** From number `n` on, exclusive: a newcomer starts with no backlog. Also written for the broadcast `*`. */
export interface ChannelJoined {
  type: 'channel.joined'
  channel: string
  agent: string
  n: number
}
export interface ChannelLeft {
  type: 'channel.left'
  channel: string
  agent: string
  n: number
}
/** A pair, a group or the broadcast came to be; the members of a pair or group are in it from its first message. */
export interface ConversationOpened {
  type: 'conversation.opened'
  conversation: string
  members: string[]
}
export interface MessageCreated {
  type: 'message.created'
  id: string
  conversation: string
  n: number
  from: string
  kind: Message['kind']
  thread?: string
  replyTo?: string
}
/** Put before the agent by `route`. Held until `until` (milliseconds) for `session` where the route holds. */
export interface DeliveryOffered {
  type: 'delivery.offered'
  message: string
  agent: string
  route: Route
  session?: string
  until?: number
}
/** The answer that carried it never arrived: no session holds it any more, and the next taker gets it. */
export interface DeliveryReleased {
  type: 'delivery.released'
  message: string
  agent: string
}
export interface DeliveryRead {
  type: 'delivery.read'
  message: string
  agent: string
}
export interface ReactionAdded {
  type: 'reaction.added'
  message: string
  agent: string
  emoji: string
}
export interface ReactionRemoved {
  type: 'reaction.removed'
  message: string
  agent: string
  emoji: string
}

/** Offered by one session of its provider; a new registration takes the place of the one before. */
export interface ActionRegistered {
  type: 'action.registered'
  name: string
  provider: string
  session: string
  description: string
  inputSchema: Record<string, unknown>
  outputSchema?: Record<string, unknown>
  availableTo?: string[]
  timeoutMs: number
}
export interface ActionWithdrawn {
  type: 'action.withdrawn'
  name: string
  provider: string
}
/** The input itself is the entry's body, not in the fact: what an agent passed is not for every watcher's eyes. */
export interface ActionInvoked {
  type: 'action.invoked'
  id: string
  action: string
  caller: string
  provider?: string
  session?: string
  inputBytes: number
  until: number
}
/** The output is the entry's body. */
export interface ActionCompleted {
  type: 'action.completed'
  id: string
  action: string
  caller: string
  ok: boolean
  code?: ActionErrorCode
  message?: string
  outputBytes?: number
  durationMs: number
}

/** A program that its parent wishes to run. Its task is the entry's body. */
export interface WorkerWished {
  type: 'worker.wished'
  id: string
  worker: string
  parent: string
  cli: string
  command?: string[]
  args?: string[]
  model?: string
  cwd: string
  /** The relay's MCP server is given to it; not where its arguments bring MCP configuration of their own. */
  isInjected: boolean
}
/** What somebody wishes of a running worker from now on. */
export interface WorkerWishChanged {
  type: 'worker.wish-changed'
  id: string
  worker: string
  wish: 'run' | 'paused' | 'gone'
  reason?: string
}
/** How its program fares. */
export interface WorkerChanged {
  type: 'worker.changed'
  id: string
  worker: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
}

/** The contract is the entry's body: what an agent was asked is not for every watcher's eyes. */
export interface RunStarted {
  type: 'run.started'
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
}
/** The payload belongs to the entry, like a body. */
export interface RunCompleted {
  type: 'run.completed'
  id: string
  agent: string
  summary: string
  /** Uncompressed; unset where nothing was handed over. */
  payloadBytes?: number
}
export interface RunStopped {
  type: 'run.stopped'
  id: string
  agent: string
  /** Why it ended by itself, or what who stopped it said. */
  reason?: string
}

export type Fact =
  | WorkspaceBegan
  | WorkspaceKeyIssued
  | WorkspacePolicySet
  | AgentRegistered
  | AgentUpdated
  | AgentTokenIssued
  | AgentTokensRevoked
  | ChannelCreated
  | ChannelJoined
  | ChannelLeft
  | ConversationOpened
  | MessageCreated
  | DeliveryOffered
  | DeliveryReleased
  | DeliveryRead
  | ReactionAdded
  | ReactionRemoved
  | ActionRegistered
  | ActionWithdrawn
  | ActionInvoked
  | ActionCompleted
  | WorkerWished
  | WorkerWishChanged
  | WorkerChanged
  | RunStarted
  | RunCompleted
  | RunStopped

/** Facts of one command, in the order they were decided. */
export interface Entry {
  seq: number
  at: number
  by: string
  cause: string
  facts: Fact[]
}
