// Facts: the things that can happen, one type each. The rules in core/ decide them; they are written once to the journal and shown to watchers as events. A
// fact never carries a message body (the immutable message row does) and never changes its meaning: a new meaning is a new type.

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
/** A new key was issued, which ends the one before; only its hash is ever written. */
export interface WorkspaceKeyIssued {
  type: 'workspace.key-issued'
  hash: string
}
/** The workspace was restored from a backup. The workers and runs written before were on another disk: nothing of them is started, removed or written here. */
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
/** A token was issued; only its hash is ever written. The token is valid before `until` (milliseconds); for good, if left out. */
export interface AgentTokenIssued {
  type: 'agent.token-issued'
  agent: string
  hash: string
  until?: number
}
/** All tokens that the agent had until now are invalid. */
export interface AgentTokensRevoked {
  type: 'agent.tokens-revoked'
  agent: string
}
/** The agent is in no list any more. `isFree`: nothing that is kept names it, so another agent may have its name; otherwise nobody may. */
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
/** An agent joined a channel, or the broadcast `*`. It gets what comes after number `n`: a newcomer starts with no backlog. */
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
/** A channel was removed: only its maker had ever joined it, and nothing was said in it. */
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
/** A message was put before the agent by `route`. Where the route holds, `session` holds it until `until` (milliseconds). */
export interface DeliveryOffered {
  type: 'delivery.offered'
  message: string
  agent: string
  route: Route
  session?: string
  until?: number
}
/** A message was taken, but not yet put before the agent: `session` keeps it from others until `until` (milliseconds). */
export interface DeliveryHeld {
  type: 'delivery.held'
  message: string
  agent: string
  session?: string
  until: number
}
/** The answer that carried a message never arrived: no session holds the message any more, and the next taker gets it. */
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

/** One session of the provider offers an action; a new registration takes the place of the one before. */
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
  /** The proof that the provider's session has shown: the owner's socket, the key, a token, or nothing. */
  authority?: 'owner' | 'key' | 'token' | 'nobody'
  /** The machine that the session lives on; left out where the workspace lives on one machine alone. */
  machine?: string
}
export interface ActionWithdrawn {
  type: 'action.withdrawn'
  name: string
  provider: string
}
/** An action was called. The input is the entry's body, not in the fact: not every watcher may see what an agent passed. */
export interface ActionInvoked {
  type: 'action.invoked'
  id: string
  action: string
  caller: string
  provider?: string
  session?: string
  inputBytes: number
  until: number
  /** The machine that answers, which is that of the action. */
  machine?: string
}
/** A call of an action ended. Its output is the entry's body. */
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
/** The request for a worker as it was made; the other fields of the fact say what became of it. With the request the worker can be asked for again. */
export interface WorkerAsked {
  cli: string
  command?: string[]
  args?: string[]
  control?: ControlName
  /** The directory that the parent wished for; a worktree is made from there. */
  cwd: string
  worktree?: boolean
}
/** An agent wishes a worker's program to run. The task is the entry's body. */
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
  /** The worker gets the relay's MCP server; not where its arguments bring MCP configuration of their own. */
  isInjected: boolean
  /** The protocol in which the daemon speaks to the program; left out: it types into the terminal. */
  control?: 'acp'
  /** The worker's own checkout, which is made before its program starts. */
  worktree?: Worktree
  /** The machine that the worker runs on; left out where the workspace lives on one machine alone. */
  machine?: string
  /** The request. Left out by versions that could not ask for a worker again. */
  asked?: WorkerAsked
  /** The earlier worker whose task this one was given again. */
  again?: string
}
/** Somebody wishes a running worker to go on, pause or end. */
export interface WorkerWishChanged {
  type: 'worker.wish-changed'
  id: string
  worker: string
  wish: 'run' | 'paused' | 'gone'
  reason?: string
}
/** The status of a worker's program. */
export interface WorkerChanged {
  type: 'worker.changed'
  id: string
  worker: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  /** The worker is spoken to in its terminal from now on: the protocol that was wished for did not work. */
  control?: 'pty'
}
/** A worker's worktree was removed: it held nothing that is nowhere else, or somebody said that it may go. */
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
