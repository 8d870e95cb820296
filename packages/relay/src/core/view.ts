// The read-only view of the workspace's tables that rules decide on. store/view.ts implements it.

import type {
  ActionRegistered,
  AgentProfile,
  ApprovalClosed,
  ApprovalOpened,
  ControlName,
  HarnessName,
  Message,
  NoticeAsked,
  Policy,
  Route,
  RunState,
  WorkerStatus,
  WorkerWished,
} from '@agent-relay/sdk/protocol'
import type { AnswerPlace } from './answers.ts'

export interface AgentRow extends Omit<AgentProfile, 'channels' | 'type'> {
  id: string
  type: 'agent' | 'human'
}

/** A message without its body. */
export interface MessageHead {
  id: string
  seq: number
  at: number
  conversation: string
  n: number
  from: string
  kind: Message['kind']
  thread?: string
  replyTo?: string
}

/** The receipt of one message for one recipient. Without a row the message is stored, and nothing else has happened to it. */
export interface ReceiptRow {
  route?: Route
  session?: string
  until?: number
  offeredAt?: number
  readAt?: number
}

/** An action that is offered, as it was registered. */
export type ActionRow = Omit<ActionRegistered, 'type'>

/** One call of an action, without its input and output. */
export interface InvocationRow {
  id: string
  action: string
  caller: string
  provider?: string
  session?: string
  at: number
  until: number
  /** The machine of the action. */
  machine?: string
  isDone: boolean
}

/** A worker: what was asked of it, and the status of its program. */
export interface WorkerRow extends Omit<WorkerWished, 'type' | 'worker' | 'control'> {
  name: string
  control: ControlName
  wish: 'run' | 'paused' | 'gone'
  /** The agent that last changed `wish`; unset if nobody has. */
  wishedBy?: string
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  at: number
  changedAt: number
}

export interface WorkerView {
  byId(id: string): WorkerRow | undefined
  /** The last worker of this name. */
  byName(name: string): WorkerRow | undefined
  /** The workers of all machines that have not exited, oldest first. */
  running(): WorkerRow[]
  /** Workers, newest first, running or not. */
  latest(limit: number): WorkerRow[]
  taskOf(id: string): string | undefined
  /** The beginning of the text, enough for a first line. */
  taskHead(id: string): string | undefined
  /** Workers whose worktree was not removed, running or not. */
  withWorktree(): WorkerRow[]
}

/** A run without its contract and payload. */
export interface RunRow {
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
  machine?: string
  /** The run's worker is to have a worktree of its own. */
  worktree?: boolean
  /** The earlier run whose contract this one was given again. */
  again?: string
  status: RunState
  startedAt: number
  endedAt?: number
  summary?: string
  reason?: string
  payloadBytes?: number
}

export interface RunView {
  byId(id: string): RunRow | undefined
  /** The last run of an agent that was made for runs: the loop's agent, or a worker. */
  byAgent(agent: string): RunRow | undefined
  /** The runs of all agents that have not ended, oldest first. */
  running(): RunRow[]
  /** The run that an agent carries out now: the last one that it was given. */
  busyWith(agent: string): RunRow | undefined
  contract(id: string): string
  /** The beginning of the text, enough for a first line. */
  contractHead(id: string): string
}

/** A claim, which may have ended by its time. */
export interface ClaimRow {
  /** The file's identity; `root` and `file` are for display. */
  path: string
  root: string
  file: string
  repository: string
  agent: string
  how: 'edit' | 'hand'
  since: number
  /** The time at which its holder last claimed or edited the file. */
  editedAt: number
  until: number
  machine?: string
}

/** The agent that asks about claims, and where and when. */
export interface Asker {
  agent: string
  machine: string | undefined
  at: number
}

export interface ClaimView {
  at(path: string, machine: string | undefined): ClaimRow | undefined
  /** The claims on any of these paths, in one query, since an edit may name a thousand. */
  among(paths: readonly string[], machine: string | undefined): ClaimRow[]
  /** Claims on these paths that other agents have and that have not expired: the first of them, and their number. */
  othersAmong(paths: readonly string[], asker: Asker): { first: ClaimRow[]; count: number }
  /** The claims on files below this directory. */
  below(directory: string, machine: string | undefined): ClaimRow[]
  inCheckout(root: string): ClaimRow[]
  /** The claims on these files in all checkouts of the repository, on whichever machine. */
  ofFiles(repository: string, files: readonly string[]): ClaimRow[]
  of(agent: string): ClaimRow[]
  /** Number of claims that have not expired. */
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
  /** The open approvals, oldest first. */
  open(): ApprovalRow[]
  /** Number of open approvals. */
  count(): number
  /** The open approvals of this agent, oldest first. */
  of(agent: string): ApprovalRow[]
  /** The newest approval with this mark. */
  byMark(mark: string): ApprovalRow | undefined
  /** The ids of the newest approvals with a mark that were answered. */
  lastAnswered(most: number): string[]
  /** The whole input, as far as it is kept; undefined where the row has all of it. */
  whole(id: string): string | undefined
  /** The number of the last approval that was opened; 0 before the first. */
  last(): number
}

/** A notice that an agent has asked for and has not been told yet. */
export interface NoticeRow extends Omit<NoticeAsked, 'type'> {
  at: number
}

/** Identifies a notice: there is one for each asker, agent, occasion and message. */
export type NoticeKey = Omit<NoticeAsked, 'type' | 'after'>

export interface NoticeView {
  find(key: NoticeKey): NoticeRow | undefined
  /** The notices that an agent has asked for, oldest first. */
  of(asker: string): NoticeRow[]
  /** Whether anybody has asked to be told of this agent. */
  about(agent: string): boolean
  count(): number
}

export interface Waiting {
  head: MessageHead
  bodyBytes: number
  /** The body, if it is short as most are: reading each again would double the cost of a look. */
  body?: string
  receipt: ReceiptRow | undefined
}

/** Number of rows that a look had to pass over. A caller that must not take long stops when it is too high. */
export interface Look {
  passed: number
}

export interface InboxFilter {
  from?: string
  conversation?: string
  thread?: string
  /** Only messages of entries below this number; for `received`. */
  beforeSeq?: number
  /** Only messages of entries above this number. */
  afterSeq?: number
}

/** The machine that decides an agent's deliveries, in a workspace that several share. The epoch counts the homes of a name. */
export interface HomeRow {
  machine: string
  epoch: number
}

export interface View {
  policy(): Policy
  /** The format of the next entries, where machines share the workspace. 1 where it began before formats were raised. */
  format(): number
  /** The machine that owns the workspace; unset in format 1. */
  owner(): string | undefined
  /** Whether the machine was removed from the cluster, as far as the journal tells. */
  isRevoked(machine: string): boolean
  agent(name: string): AgentRow | undefined
  /** Whether the name was that of a retired agent, and is kept so that nobody takes it. */
  isRetired(name: string): boolean
  /** The last home of the agent that has or had this name; none where the workspace lives on one machine alone. */
  home(name: string): HomeRow | undefined
  /** Whether a message, run, worker, action or call names the agent, or another agent has it as parent; or it heard anything said. */
  isNamed(agent: string): boolean
  /** Agents whose name or handle reads like this text: see core/handles.ts. */
  agentsCalled(text: string): AgentRow[]
  /** All agents, in the order of their registration. */
  agents(): Iterable<AgentRow>
  channels(): readonly string[]
  /** The number of the conversation's last message, or undefined where there is no such conversation. */
  lastNumber(conversation: string): number | undefined
  isMember(agent: string, conversation: string): boolean
  /** An agent that is or was in the conversation, other than the named agent. */
  otherIn(agent: string, conversation: string): string | undefined
  message(id: string): MessageHead | undefined
  /** The first characters of the message's body. */
  beginning(message: MessageHead, chars: number): string
  /** The newest questions in each pair and group that the agent is in. Undefined marks a place to pause. */
  questions(agent: string): Iterable<MessageHead | undefined>
  /** Messages of others in this place after a message, oldest first; the first hundred. */
  saidAfter(place: AnswerPlace, message: Pick<MessageHead, 'conversation' | 'n' | 'seq' | 'from'>): MessageHead[]
  /** The time at which message number `n` of a conversation was stored. */
  sentAt(conversation: string, n: number): number | undefined
  /** Whether the agent was in the conversation when the message was sent, and is not its sender. */
  isRecipient(agent: string, message: MessageHead): boolean
  receipt(agent: string, message: MessageHead): ReceiptRow | undefined
  hasReacted(agent: string, message: MessageHead, emoji: string): boolean
  actions(): Iterable<ActionRow>
  action(name: string): ActionRow | undefined
  /** The action with this name as an MCP tool; no two actions share one. */
  actionOfTool(tool: string): ActionRow | undefined
  invocation(id: string): InvocationRow | undefined
  runningInvocations(): InvocationRow[]
  readonly workers: WorkerView
  readonly runs: RunView
  readonly claims: ClaimView
  readonly approvals: ApprovalView
  readonly notices: NoticeView
  /** The agent's unread messages, oldest first. Read lazily: stop when you have enough. Undefined marks a place to pause. */
  unread(agent: string, filter: InboxFilter, look?: Look): Iterable<Waiting | undefined>
  /** All messages ever sent to the agent, newest first. Read lazily, as with `unread`. */
  received(agent: string, filter: InboxFilter, look?: Look): Iterable<Waiting | undefined>
}
