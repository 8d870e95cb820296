// What a rule may see of the workspace: a small window on its tables. Implemented by store/view.ts; nothing here is ever changed by a rule.

import type {
  ActionRegistered,
  AgentProfile,
  HarnessName,
  Message,
  Policy,
  Route,
  RunState,
  WorkerStatus,
  WorkerWished,
} from '@agent-relay/sdk/protocol'

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

/** What was recorded of one message for one recipient; no row means stored and nothing else. */
export interface ReceiptRow {
  route?: Route
  session?: string
  until?: number
  offeredAt?: number
  readAt?: number
}

/** An action that is offered: what its registration said. */
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
  isDone: boolean
}

/** A program: what was wished, and how it fares. */
export interface WorkerRow extends Omit<WorkerWished, 'type' | 'worker'> {
  name: string
  wish: 'run' | 'paused' | 'gone'
  status: WorkerStatus
  pid?: number
  code?: number
  reason?: string
  at: number
  changedAt: number
}

export interface WorkerView {
  byId(id: string): WorkerRow | undefined
  /** The last one of this name. */
  byName(name: string): WorkerRow | undefined
  /** Those that have not exited, oldest first. */
  running(): WorkerRow[]
}

/** A run without its contract and payload. */
export interface RunRow {
  id: string
  agent: string
  parent: string
  harness: HarnessName
  model?: string
  cwd?: string
  status: RunState
  startedAt: number
  endedAt?: number
  summary?: string
  reason?: string
  payloadBytes?: number
}

export interface RunView {
  byId(id: string): RunRow | undefined
  /** The last one that an agent of its own carries out: the loop's, or a worker. */
  byAgent(agent: string): RunRow | undefined
}

export interface Waiting {
  head: MessageHead
  bodyBytes: number
  /** Only where it is short: most are, and asking for each again would double the cost of a look. */
  body?: string
  receipt: ReceiptRow | undefined
}

export interface InboxFilter {
  from?: string
  conversation?: string
  thread?: string
}

export interface View {
  policy(): Policy
  agent(name: string): AgentRow | undefined
  agentOfHandle(handle: string): AgentRow | undefined
  /** In the order of their registration. */
  agents(): Iterable<AgentRow>
  channels(): string[]
  /** The number of the conversation's last message, or undefined where there is no such conversation. */
  lastNumber(conversation: string): number | undefined
  isMember(agent: string, conversation: string): boolean
  message(id: string): MessageHead | undefined
  /** When message number `n` of a conversation was stored. */
  sentAt(conversation: string, n: number): number | undefined
  /** Was the agent in the conversation when the message was sent, and not its sender? */
  isRecipient(agent: string, message: MessageHead): boolean
  receipt(agent: string, message: MessageHead): ReceiptRow | undefined
  hasReacted(agent: string, message: MessageHead, emoji: string): boolean
  actions(): Iterable<ActionRow>
  action(name: string): ActionRow | undefined
  /** By the name it has as an MCP tool: two actions never share one. */
  actionOfTool(tool: string): ActionRow | undefined
  invocation(id: string): InvocationRow | undefined
  runningInvocations(): InvocationRow[]
  readonly workers: WorkerView
  readonly runs: RunView
  /** What the agent has not read, oldest first; read lazily, so stop when you have enough. */
  unread(agent: string, filter: InboxFilter): Iterable<Waiting>
  /** What was ever sent to the agent, newest first; lazily too. */
  received(agent: string, filter: InboxFilter): Iterable<Waiting>
}
