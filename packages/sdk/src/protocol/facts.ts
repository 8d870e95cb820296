// Facts: the things that can happen, one type each. The rules in packages/relay/src/core decide them; they are written once to the journal and shown to
// watchers as events. A fact never contains a message's body, which is stored with the message, and never changes its meaning: a new meaning is a new type.

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

/** The workspace was created: the first fact in its journal. */
export interface WorkspaceBegan {
  type: 'workspace.began'
  id: string
}
/** A new workspace key was issued, which ends the key before it; only the hash of a key is ever written. */
export interface WorkspaceKeyIssued {
  type: 'workspace.key-issued'
  hash: string
}
/**
 * The workspace was restored from a backup. Workers and runs in earlier entries belonged to another disk: this daemon does not start, remove or write anything
 * of theirs.
 */
export interface WorkspaceRestored {
  type: 'workspace.restored'
}
/** The workspace's policy was set; `policy` is the whole policy that holds from here on. */
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
/** A token was issued to an agent; only the token's hash is ever written. `until` is when the token ends, in ms since 1970. Unset: it never ends. */
export interface AgentTokenIssued {
  type: 'agent.token-issued'
  agent: string
  hash: string
  until?: number
}
/** All tokens that the agent had so far are invalid. */
export interface AgentTokensRevoked {
  type: 'agent.tokens-revoked'
  agent: string
}
/** The agent was removed from all lists. `isFree` says that nothing stored names the agent, so another agent may take the name; otherwise nobody may. */
export interface AgentRetired {
  type: 'agent.retired'
  agent: string
  isFree: boolean
}
/** The agent was told its own situation, because its model's memory was cut. `text` is all that it was told. */
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
/** An agent joined a channel, or the broadcast `*`. It gets the messages after number `n`: a newcomer starts without older messages. */
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
/** A channel was removed. That is possible only if nobody but its creator has ever joined it, and no message was sent to it. */
export interface ChannelRemoved {
  type: 'channel.removed'
  channel: string
}
/** A pair, a group or the broadcast came into being. The members of a pair or group belong to it from its first message on. */
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
/**
 * A message was put before the agent by `route`. If the route holds messages, `session` keeps this one from the agent's other sessions until `until` (ms since
 * 1970).
 */
export interface DeliveryOffered {
  type: 'delivery.offered'
  message: string
  agent: string
  route: Route
  session?: string
  until?: number
}
/** A message was taken for the agent, but not yet put before it: `session` keeps the message from others until `until` (ms since 1970). */
export interface DeliveryHeld {
  type: 'delivery.held'
  message: string
  agent: string
  session?: string
  until: number
}
/** The answer that carried a message never arrived: no session holds the message, and the next session that takes messages gets it. */
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

/** A session of the agent `provider` offers an action (a typed function); a new registration of the name replaces the one before. */
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
  /** What the provider's session has proved itself with: the owner's socket, the workspace key, a token, or nothing. */
  authority?: 'owner' | 'key' | 'token' | 'nobody'
  /** The machine on which the provider's session lives. Unset in a workspace of a single machine. */
  machine?: string
}
export interface ActionWithdrawn {
  type: 'action.withdrawn'
  name: string
  provider: string
}
/** An action was called. The input is stored as the entry's body and not in the fact, because not every watcher may see what an agent passed. */
export interface ActionInvoked {
  type: 'action.invoked'
  id: string
  action: string
  caller: string
  provider?: string
  session?: string
  inputBytes: number
  until: number
  /** The machine on which the action's provider answers. Unset in a workspace of a single machine. */
  machine?: string
}
/** A call of an action ended. The output is stored as the entry's body. */
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
/**
 * The request for a worker exactly as it was made, so that the same worker can be requested again; the other fields of `WorkerWished` say what became of the
 * request.
 */
export interface WorkerAsked {
  cli: string
  command?: string[]
  args?: string[]
  control?: ControlName
  /** The directory that the parent asked for; if the worker gets a worktree, it is made from this directory. */
  cwd: string
  worktree?: boolean
  /** The id of the earlier worker whose conversation this worker's program goes on with. Unset: it began a conversation of its own. */
  continues?: string
}
/** An agent wants a worker's program to run. The worker's task is stored as the entry's body. */
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
  /** Whether the worker gets the relay's MCP server; false if its arguments contain an MCP configuration of their own. */
  isInjected: boolean
  /** The protocol in which the daemon speaks to the program. Unset: the daemon types into the program's terminal. */
  control?: 'acp'
  /** The worker's own git worktree, which is made before its program starts. */
  worktree?: Worktree
  /** The machine on which the worker runs. Unset in a workspace of a single machine. */
  machine?: string
  /** The request for this worker as it was made. Unset in facts of versions that could not request a worker again. */
  asked?: WorkerAsked
  /** The id of the earlier worker whose task this worker was given again. */
  again?: string
}
/** Somebody wants a running worker to go on, pause or end. */
export interface WorkerWishChanged {
  type: 'worker.wish-changed'
  id: string
  worker: string
  wish: 'run' | 'paused' | 'gone'
  reason?: string
}
/** Somebody interrupts the turn that a worker is in. */
export interface WorkerInterrupted {
  type: 'worker.interrupted'
  id: string
  worker: string
  reason?: string
}
/** The status of a worker's program has changed. */
export interface WorkerChanged {
  type: 'worker.changed'
  id: string
  worker: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  /** Set if the daemon speaks to the worker through its terminal from here on, because the requested protocol did not work. */
  control?: 'pty'
  /** The id that the program gave to the conversation that it is in, with which a later program can go on. */
  conversation?: string
}
/** A worker's git worktree was removed: its content also exists elsewhere, or somebody said that it may go. */
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
  | WorkerInterrupted
  | WorkerChanged
  | WorkerWorktreeRemoved
  | RunFact
  | ClaimFact
  | ApprovalFact
  | NeedDismissed
  | NoticeFact
  | SpendNoted

/** A journal entry: the facts of one command, in the order in which they were decided. */
export interface Entry {
  seq: number
  at: number
  by: string
  cause: string
  facts: Fact[]
}
