// The read-only view of a workspace's tables on which rules decide commands. store/view.ts implements it.

import type {
  ActionInvoked,
  ActionRegistered,
  AgentProfile,
  ApprovalClosed,
  ApprovalOpened,
  ClaimMade,
  MessageCreated,
  NoticeAsked,
  Policy,
  Route,
  RunStarted,
  RunState,
  WorkerControlName,
  WorkerStatus,
  WorkerWished,
} from '@agent-relay/sdk/protocol'
import type { AnswerPlace } from './answers.ts'

export interface AgentRow extends Omit<AgentProfile, 'channels' | 'type'> {
  id: string
  type: 'agent' | 'human'
}

/** A message without its body. */
export interface MessageHead extends Omit<MessageCreated, 'type'> {
  seq: number
  at: number
}

/** The receipt of one message for one recipient. While there is no receipt, the message is stored and nothing else has happened to it. */
export interface ReceiptRow {
  route?: Route
  session?: string
  until?: number
  offeredAt?: number
  readAt?: number
}

/** An action that a program offers, as it was registered. */
export type ActionRow = Omit<ActionRegistered, 'type'>

/** One call of an action, without its input and output. */
export interface InvocationRow extends Omit<ActionInvoked, 'type' | 'inputBytes'> {
  at: number
  isDone: boolean
}

export interface ActionView {
  all(): Iterable<ActionRow>
  byName(name: string): ActionRow | undefined
  /** Returns the action with this name as an MCP tool; no two actions share a tool name. */
  byTool(tool: string): ActionRow | undefined
  invocation(id: string): InvocationRow | undefined
  /** Returns the calls of actions that have not ended. */
  running(): InvocationRow[]
}

/** A worker, a program that the daemon runs for an agent: what was asked of the worker, and the status of its program. */
export interface WorkerRow extends Omit<WorkerWished, 'type' | 'worker' | 'control'> {
  name: string
  control: WorkerControlName
  wish: 'run' | 'paused' | 'gone'
  /** The agent that last changed `wish`; unset if nobody has. */
  wishedBy?: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  at: number
  changedAt: number
  /** The id that the program gave its conversation. Unset: it has begun none, or none that a later program could open again. */
  conversation?: string
}

export interface WorkerView {
  byId(id: string): WorkerRow | undefined
  /** Returns the last worker of this name. */
  byName(name: string): WorkerRow | undefined
  /** Returns the workers of all machines that have not exited, oldest first. */
  running(): WorkerRow[]
  /** Returns workers, newest first, running or not. */
  latest(limit: number): WorkerRow[]
  taskOf(id: string): string | undefined
  /** Returns the beginning of the worker's task, enough for a first line. */
  taskHead(id: string): string | undefined
  /** Returns workers whose worktree was not removed, running or not. */
  withWorktree(): WorkerRow[]
}

/** A run (a contract given to an agent) without the text of its contract and without its payload. */
export interface RunRow extends Omit<RunStarted, 'type'> {
  status: RunState
  startedAt: number
  endedAt?: number
  summary?: string
  reason?: string
  payloadBytes?: number
}

export interface RunView {
  byId(id: string): RunRow | undefined
  /** Returns the last run of an agent that was made for runs: the agent of the built-in loop, or a worker. */
  byAgent(agent: string): RunRow | undefined
  /** Returns the runs of all agents that have not ended, oldest first. */
  running(): RunRow[]
  /** Returns the run that an agent carries out now: the last one that it was given. */
  currentRunOf(agent: string): RunRow | undefined
  contract(id: string): string
  /** Returns the beginning of the run's contract, enough for a first line. */
  contractHead(id: string): string
}

/** An agent's claim on a file that it edits, by the identity of the file: `root` and `file` are for display. The claim's time may be over. */
export interface ClaimRow extends Omit<ClaimMade, 'type'> {
  since: number
  /** The time at which the claim's holder last claimed or edited the file. */
  editedAt: number
}

/** The agent that asks about claims, its machine, and the time at which it asks. */
export interface ClaimReader {
  agent: string
  machine: string | undefined
  at: number
}

export interface ClaimView {
  at(path: string, machine: string | undefined): ClaimRow | undefined
  /** Returns the claims on any of these paths, in one query, since an edit may name a thousand. */
  onPaths(paths: readonly string[], machine: string | undefined): ClaimRow[]
  /** Finds unexpired claims of other agents on these paths: the first of them, and their number. */
  othersOnPaths(paths: readonly string[], asker: ClaimReader): { first: ClaimRow[]; count: number }
  /** Returns the claims on files below this directory. */
  below(directory: string, machine: string | undefined): ClaimRow[]
  inCheckout(root: string): ClaimRow[]
  /** Returns the claims on these files in all checkouts of the repository, on whichever machine. */
  ofFiles(repository: string, files: readonly string[]): ClaimRow[]
  of(agent: string): ClaimRow[]
  /** Returns the number of claims that have not expired. */
  count(at: number): number
  countOf(agent: string, at: number): number
}

/** An approval, open or closed. */
export interface ApprovalRow extends Omit<ApprovalOpened, 'type'> {
  at: number
  closed?: Pick<ApprovalClosed, 'how' | 'kind' | 'choice' | 'words' | 'answers'> & { at: number; by: string }
}

export interface ApprovalView {
  byId(id: string): ApprovalRow | undefined
  /** Returns the open approvals, oldest first. */
  open(): ApprovalRow[]
  /** Returns the number of open approvals. */
  count(): number
  /** Returns the open approvals of this agent, oldest first. */
  of(agent: string): ApprovalRow[]
  /** Returns the newest approval with this mark, by which a program finds its approval again after a restart of the daemon. */
  byMark(mark: string): ApprovalRow | undefined
  /** Returns the ids of the newest approvals with a mark that were answered. */
  lastAnswered(most: number): string[]
  /** Returns the whole input of an approval, as far as it is kept. Undefined if the approval's row has all of it. */
  wholeInput(id: string): string | undefined
  /** Returns the number of the last approval that was opened; 0 before the first. */
  lastOpenedNumber(): number
}

/** A notice that an agent has asked for and has not been told yet. */
export interface NoticeRow extends Omit<NoticeAsked, 'type'> {
  at: number
}

/** Identifies a notice: there is one for each asker, agent, occasion and message. */
export type NoticeKey = Omit<NoticeAsked, 'type' | 'after'>

export interface NoticeView {
  find(key: NoticeKey): NoticeRow | undefined
  /** Returns the notices that an agent has asked for, oldest first. */
  of(asker: string): NoticeRow[]
  /** Whether anybody waits for a notice about this agent. */
  hasAnyAbout(agent: string): boolean
  count(): number
}

export interface WaitingMessage {
  head: MessageHead
  bodyBytes: number
  /** The message's body, if it is short, as most are. Reading the bodies in a second query would double the time. */
  body?: string
  receipt: ReceiptRow | undefined
}

/** Number of rows that a read has passed over so far. A caller that must not take long stops the read when the number is too high. */
export interface ScanProgress {
  rowsPassed: number
}

export interface InboxFilter {
  from?: string
  conversation?: string
  thread?: string
  /** Only messages of journal entries below this number; used by `received`. */
  beforeSeq?: number
  /** Only messages of journal entries above this number. */
  afterSeq?: number
}

export interface InboxView {
  /** Yields the agent's unread messages, oldest first. Rows are read lazily: stop when you have enough. An undefined item marks a place to pause. */
  unread(agent: string, filter: InboxFilter, progress?: ScanProgress): Iterable<WaitingMessage | undefined>
  /** Yields all messages ever sent to the agent, newest first, as lazily as `unread`. */
  received(agent: string, filter: InboxFilter, progress?: ScanProgress): Iterable<WaitingMessage | undefined>
}

/**
 * The home machine of an agent, which decides the agent's deliveries in a workspace that several machines share. `epoch` counts the homes of the agent's
 * name.
 */
export interface HomeRow {
  machine: string
  epoch: number
}

export interface View {
  policy(): Policy
  /** Returns the format of the journal, by which entries of a shared workspace are judged. 1 if sharing began in a version that had no formats. */
  format(): number
  /** Returns the machine that decides about the shared workspace's key and policy (its owner machine); undefined in format 1. */
  owner(): string | undefined
  /** Whether the machine was removed from the cluster, as far as the journal tells. */
  isRevoked(machine: string): boolean
  agent(name: string): AgentRow | undefined
  /** Whether the name was a retired agent's, and is kept so that nobody takes it. */
  isRetired(name: string): boolean
  /** Returns the last home of the agent that has or had this name; undefined in a workspace of one machine. */
  home(name: string): HomeRow | undefined
  /**
   * Whether a message, run, worker, action or call names the agent, another agent has it as parent, or a message was sent in a conversation while the agent was
   * in it.
   */
  isReferenced(agent: string): boolean
  /** Returns the agents whose name or handle reads like this text: see core/handles.ts. */
  agentsNamedLike(text: string): AgentRow[]
  /** Returns all agents, in the order of their registration. */
  agents(): Iterable<AgentRow>
  /** Returns the names of all agents, in the same order. */
  agentNames(): readonly string[]
  channels(): readonly string[]
  /** Returns the number of the conversation's last message; undefined if the conversation does not exist. */
  lastNumber(conversation: string): number | undefined
  isMember(agent: string, conversation: string): boolean
  /** Returns an agent that is or was in the conversation, other than the named agent. */
  otherMember(agent: string, conversation: string): string | undefined
  message(id: string): MessageHead | undefined
  /** Returns the first characters of the message's body. */
  bodyStart(message: MessageHead, chars: number): string
  /** Returns the newest questions in each pair and group that the agent is in. An undefined item marks a place to pause. */
  questions(agent: string): Iterable<MessageHead | undefined>
  /** Returns messages of others in this place (a thread or a pair) after a message, oldest first, at most a hundred. */
  messagesAfter(place: AnswerPlace, message: Pick<MessageHead, 'conversation' | 'n' | 'seq' | 'from'>): MessageHead[]
  /** Returns the time at which message number `n` of a conversation was stored. */
  sentAt(conversation: string, n: number): number | undefined
  /** Whether the agent was in the conversation when the message was sent, and is not its sender. */
  isRecipient(agent: string, message: MessageHead): boolean
  receipt(agent: string, message: MessageHead): ReceiptRow | undefined
  hasReacted(agent: string, message: MessageHead, emoji: string): boolean
  readonly actions: ActionView
  readonly workers: WorkerView
  readonly runs: RunView
  readonly claims: ClaimView
  readonly approvals: ApprovalView
  readonly notices: NoticeView
  readonly inbox: InboxView
}
