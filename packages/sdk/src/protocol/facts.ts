// Facts: everything that can happen in a workspace, with one TypeScript type each. The rules in packages/relay/src/core decide facts; they are written once to
// the journal, and watchers see them as events. A fact never contains a message's body, which is stored with the message, and never changes its meaning: a new
// meaning gets a new type.

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
import type { ActionErrorCode, AgentProfile, Message, WorkerControlName, WorkerStatus } from './words.ts'
import type { Worktree } from './worktrees.ts'

/** The workspace was created: the first fact in its journal. */
export interface WorkspaceBegan {
  type: 'workspace.began'
  id: string
}
/** A new workspace key was issued, and the key before it is invalid from here on. The journal contains only hashes of keys. */
export interface WorkspaceKeyIssued {
  type: 'workspace.key-issued'
  hash: string
}
/**
 * The workspace was restored from a backup. Workers and runs in earlier entries belong to the installation that was backed up: this daemon starts, removes and
 * writes nothing of theirs.
 */
export interface WorkspaceRestored {
  type: 'workspace.restored'
}
/** The workspace's policy was set. `policy` is the whole policy that is valid from here on. */
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
/**
 * A token was issued to an agent. The journal contains only the token's hash. `until`: the time at which the token expires, in ms since 1970; unset if it never
 * does.
 */
export interface AgentTokenIssued {
  type: 'agent.token-issued'
  agent: string
  hash: string
  until?: number
}
/** All tokens that were issued to the agent before are invalid from here on. */
export interface AgentTokensRevoked {
  type: 'agent.tokens-revoked'
  agent: string
}
/** The agent was removed from all lists. `isFree`: nothing that is stored names the agent, so another agent may take its name. Otherwise nobody may. */
export interface AgentRetired {
  type: 'agent.retired'
  agent: string
  isFree: boolean
}
/**
 * The agent was given a summary of its own situation (a brief), because its model's memory was cut. `text` is the whole brief. `after`: how the memory was cut.
 */
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
/** An agent joined a channel, or the broadcast `*`. It gets messages with a number above `n`, so that a newcomer is not given older messages. */
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
/** A pair, a group or the broadcast now exists. The members of a pair or group belong to it from its first message on. */
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
 * A message was shown to the agent by `route`. For some routes, the session `session` then holds the message until the time `until` (in ms since 1970): the
 * agent's other sessions do not get it.
 */
export interface DeliveryOffered {
  type: 'delivery.offered'
  message: string
  agent: string
  route: Route
  session?: string
  until?: number
}
/**
 * A message was taken for the agent, but not shown to it yet. The session `session` holds it until the time `until` (in ms since 1970): the agent's other
 * sessions do not get it.
 */
export interface DeliveryHeld {
  type: 'delivery.held'
  message: string
  agent: string
  session?: string
  until: number
}
/**
 * The message's reader did not receive the answer that contained the message. No session holds the message any more, and the next session of the agent that
 * takes messages gets it.
 */
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

/** A session of the agent `provider` offers an action (a typed function that agents can call). It replaces a former action of the same name. */
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
  /** The credential of the provider's session: the owner's socket, the workspace key, an agent's token, or none. */
  authority?: 'owner' | 'key' | 'token' | 'nobody'
  /** The machine to which the provider's session is connected. Unset if the workspace is not shared by several machines. */
  machine?: string
}
export interface ActionWithdrawn {
  type: 'action.withdrawn'
  name: string
  provider: string
}
/** An action was called. The input is stored as the entry's body and not in the fact, because not every watcher may see it. */
export interface ActionInvoked {
  type: 'action.invoked'
  id: string
  action: string
  caller: string
  provider?: string
  session?: string
  inputBytes: number
  until: number
  /** The machine to which the action's provider is connected. Unset if the workspace is not shared by several machines. */
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
 * The request for a worker as its parent made it, kept so that it can be repeated. The other fields of `WorkerWished` say what the daemon made of it, such as
 * the actual directory.
 */
export interface WorkerAsked {
  cli: string
  command?: string[]
  args?: string[]
  control?: WorkerControlName
  /** The directory that the parent asked for. If the worker gets a git worktree, the worktree is made from the repository of this directory. */
  cwd: string
  worktree?: boolean
  /** The id of the earlier worker whose conversation with the model this worker continues. Unset: it begins a new conversation. */
  continues?: string
}
/** An agent asked for a worker (a program that the daemon runs for an agent). The worker's task is stored as the entry's body. */
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
  /** Whether the daemon gives the worker's program the relay's MCP server. False if the worker's arguments contain an MCP configuration of their own. */
  isInjected: boolean
  /** The protocol that the daemon uses to talk to the program. Unset: the daemon types into the program's terminal. */
  control?: 'acp'
  /** The worker's own git worktree, which is made before its program starts. */
  worktree?: Worktree
  /** The machine on which the worker runs. Unset if the workspace is not shared by several machines. */
  machine?: string
  /** The request as the parent made it. Unset in facts of older versions, which could not repeat a request. */
  asked?: WorkerAsked
  /** The id of the earlier worker whose task this worker was given again. Unset: it has a task of its own. */
  again?: string
}
/** Somebody asked for a running worker to resume (`run`), to pause (`paused`) or to end (`gone`). */
export interface WorkerWishChanged {
  type: 'worker.wish-changed'
  id: string
  worker: string
  wish: 'run' | 'paused' | 'gone'
  reason?: string
}
/** Somebody interrupted the current turn of a worker's model. */
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
  /** Set if the daemon types into the worker's terminal from here on, because the requested protocol did not work. */
  control?: 'pty'
  /** The program's own id of its conversation with the model, by which another program can continue the conversation later. */
  conversation?: string
}
/** A worker's git worktree was removed, either because it held no work that is not stored elsewhere, or because somebody agreed to lose that work. */
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
