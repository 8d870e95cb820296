// What can happen, one type each. Facts are decided in core/, written once to the journal and shown to watchers as events.
// A fact never carries a message body (the immutable message row does) and never changes its meaning: a new meaning is a new type.

import type { ApprovalFact } from './facts/approvals.ts'
import type { ClaimFact } from './facts/claims.ts'
import type { HomeFact } from './facts/homes.ts'
import type { MachineFact } from './facts/machines.ts'
import type { NeedDismissed } from './facts/needs.ts'
import type { NoticeFact } from './facts/notices.ts'
import type { RunFact } from './facts/runs.ts'
import type { SpendNoted } from './facts/spend.ts'
import type { Policy } from './policy.ts'
import type { Route } from './routes.ts'
import type { ActionErrorCode, AgentProfile, ControlName, Message, WorkerStatus } from './words.ts'
import type { Worktree } from './worktrees.ts'

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
/** All that was written before came with a backup. What it tells of workers and runs was on another disk: nothing of it is started, removed or written here. */
export interface WorkspaceRestored {
  type: 'workspace.restored'
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
/** It is in no list any more. `isFree`: nothing that is kept names it, so another agent may have its name; otherwise nobody may. */
export interface AgentRetired {
  type: 'agent.retired'
  agent: string
  isFree: boolean
}
/** The agent was told its own situation, because its model's memory had been cut. The text is all that it was told. */
export interface AgentBriefed {
  type: 'agent.briefed'
  agent: string
  after: 'compact' | 'resume' | 'clear'
  text: string
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
/** Only its maker had ever joined it, and nothing was said in it. */
export interface ChannelRemoved {
  type: 'channel.removed'
  channel: string
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
/** Taken to be put before the agent, which has not been done yet: `session` keeps it from others until `until` (milliseconds). */
export interface DeliveryHeld {
  type: 'delivery.held'
  message: string
  agent: string
  session?: string
  until: number
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
  /** What its session has shown: it came by the owner's socket, with the key, with a token, or with nothing. */
  authority?: 'owner' | 'key' | 'token' | 'nobody'
  /** The machine its session lives on; left out where the workspace lives on one machine alone. */
  machine?: string
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
  /** The machine that answers: that of the action. */
  machine?: string
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
/** How a worker was asked for, where the fact says what became of it: by this it can be asked for again. */
export interface WorkerAsked {
  cli: string
  command?: string[]
  args?: string[]
  control?: ControlName
  /** Where its parent wished it to work; a worktree is made from there. */
  cwd: string
  worktree?: boolean
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
  /** How its program is spoken to; left out: in its terminal. */
  control?: 'acp'
  /** It works in a checkout of its own, which is made before its program starts. */
  worktree?: Worktree
  /** The machine it runs on; left out where the workspace lives on one machine alone. */
  machine?: string
  /** Left out by versions that could not do it again. */
  asked?: WorkerAsked
  /** The worker whose task it was given again. */
  again?: string
}
/** What somebody wishes of a running worker from now on. */
export interface WorkerWishChanged {
  type: 'worker.wish-changed'
  id: string
  worker: string
  wish: 'run' | 'paused' | 'gone'
  reason?: string
}
/** The status of its program. */
export interface WorkerChanged {
  type: 'worker.changed'
  id: string
  worker: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  /** It is spoken to in its terminal from now on: what was wished did not work. */
  control?: 'pty'
}
/** Its worktree held nothing that is nowhere else, or somebody said that it may go. */
export interface WorkerWorktreeRemoved {
  type: 'worker.worktree-removed'
  id: string
  worker: string
}
export type Fact =
  | WorkspaceBegan
  | WorkspaceKeyIssued
  | WorkspaceRestored
  | WorkspacePolicySet
  | MachineFact
  | AgentRegistered
  | AgentUpdated
  | AgentTokenIssued
  | AgentTokensRevoked
  | AgentRetired
  | AgentBriefed
  | HomeFact
  | ChannelCreated
  | ChannelJoined
  | ChannelLeft
  | ChannelRemoved
  | ConversationOpened
  | MessageCreated
  | DeliveryOffered
  | DeliveryHeld
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
  | WorkerWorktreeRemoved
  | RunFact
  | ClaimFact
  | ApprovalFact
  | NeedDismissed
  | NoticeFact
  | SpendNoted

/** Facts of one command, in the order they were decided. */
export interface Entry {
  seq: number
  at: number
  by: string
  cause: string
  facts: Fact[]
}
