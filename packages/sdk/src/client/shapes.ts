// The types of the client's options, events and answers, and small functions that build them. The client itself is in client.ts.

import { ConnectionError, RelayError } from '../errors.ts'
import type { ClientLimits } from '../limits.ts'
import type { Closing } from '../link.ts'
import type { Hello, Welcome } from '../protocol/frames.ts'
import type { Ids } from '../protocol/ids.ts'
import type { InputOf, OutputOf, WorkspaceStatus } from '../protocol/operations.ts'
import type { Agent, InboxMessage, Message } from '../protocol/words.ts'

type GreetingOptions = Pick<Hello, 'token' | 'key' | 'cli' | 'model' | 'parent' | 'handle' | 'role' | 'channels'>

export interface ClientOptions extends GreetingOptions {
  /** The name of the agent to act as. Without a name, the client can read but not send. */
  agentName?: string
  agentType?: Hello['type']
  /**
   * Whether the connection is refused (`agent.name-taken`) if another agent has the name. If false or unset, the connection gets the name with a number:
   * `branch-bot-2`.
   */
  strictName?: boolean
  /** Called when the agent got another name than the requested one. */
  onRenamed?(renamed: Renamed): void
  /** Whether to connect at once (the default). A failure is then emitted as 'error', and the next call tries again. */
  autoConnect?: boolean
  limits?: Partial<ClientLimits>
  ids?: Ids
}

/** The requested name, and the name that the workspace gave instead because another agent has the requested one. */
export interface Renamed {
  asked: string
  name: string
}

/** A message with its `body` also as `content`, which is the field's name in the first version of the protocol. */
export type WithContent<M extends Message> = M & { content: string }
export type ReceivedMessage = WithContent<InboxMessage>

export type ClientEvents = {
  ready: (welcome: Welcome) => void
  message: (message: ReceivedMessage) => void
  error: (error: RelayError) => void
  disconnect: (closing: Closing) => void
}

export interface CallOptions {
  /** The command's id: the daemon carries out a command only once, however often it is sent under the same id. Unset: generated. */
  id?: string
  /** Aborting this signal ends the wait for the answer; the command may still run. */
  signal?: AbortSignal
}

export interface SendOptions extends CallOptions {
  thread?: string
  kind?: Message['kind']
  replyTo?: string
  /** Whether to create the channel to which the message goes, if the channel does not exist. */
  create?: boolean
}

export interface InboxOptions extends Omit<InputOf<'inbox.take'>, 'unreadOnly'> {
  unreadOnly?: boolean
  /** The option `unreadOnly` in the spelling of the first version of the protocol. */
  unread_only?: boolean
  /** Whether to look only: the messages stay unread and are not handed out. */
  peek?: boolean
}

/** A page of the inbox. `more`: the number of further messages in the inbox. */
export type InboxPage = ReceivedMessage[] & { more: number }

export interface ListOptions extends InputOf<'agent.list'> {
  /** The option `includeIdle` in the spelling of the first version of the protocol. */
  include_idle?: boolean
}

export type ListedAgent = Agent & { idle: boolean }

export interface ClientStatus extends Partial<WorkspaceStatus> {
  connected: boolean
  agentName: string
  project: string
  socketPath: string
  /** Time since the daemon's start, for people: `2h 5m`. */
  uptime?: string
}

export interface Watch {
  /** Resolves when the watch is set up: from then on no event is missed. Rejects if the daemon refuses the watch. */
  readonly ready: Promise<void>
  stop(): void
}

export type SpawnOptions = InputOf<'worker.spawn'>

/** The result of starting or releasing a worker. As in the first version of the protocol, a refusal is returned and not thrown. */
export interface WorkerResult {
  success: boolean
  error?: string
  note?: string
}

/** Turns a call about a worker into a `WorkerResult`. `tell` makes the text of a refusal for whoever reads the result. */
export async function workerResultOf(
  work: Promise<{ worker: unknown; note?: string }>,
  tell: (error: RelayError) => string = ({ message }) => message,
): Promise<WorkerResult> {
  try {
    const { note } = await work
    return note === undefined ? { success: true } : { success: true, note }
  } catch (error) {
    if (!(error instanceof RelayError) || error instanceof ConnectionError) throw error
    return { success: false, error: tell(error) }
  }
}

export function helloOf(options: ClientOptions): Hello {
  const { agentName: name, agentType: type, strictName: strict } = options
  const { token, key, cli, model, parent, handle, role, channels } = options
  return { name, type, token, key, strict, cli, model, parent, handle, role, channels }
}

/**
 * The warning that the agent got another name, for programs without `onRenamed`. Without it, a program started twice by mistake would wait in vain for messages
 * that go to its other process.
 */
export function renamedWarning({ asked, name }: Renamed): string {
  return `The name "${asked}" is taken: this connection acts as "${name}". To be refused instead, pass strictName: true; to handle it, pass onRenamed.`
}

export function sendInput(
  to: string | string[],
  body: string,
  { thread, kind, replyTo, create }: SendOptions,
): InputOf<'message.send'> {
  return { to, body, thread, kind, replyTo, create }
}

export function withContent<M extends Message>(message: M): WithContent<M> {
  return { ...message, content: message.body }
}

export function inboxPageOf({ messages, more }: OutputOf<'inbox.take'>): InboxPage {
  return Object.assign(messages.map(withContent), { more })
}

/** Formats a duration in its two largest units: `3d 4h`, `2h 5m`, `5m 9s`, `9s`. */
export function uptimeText(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ]
  const found = parts.findIndex(([count]) => count > 0)
  const first = found < 0 ? parts.length - 1 : found
  const shown = parts.slice(first, first + 2).filter(([count], i) => i === 0 || count > 0)
  return shown.map(([count, unit]) => `${count}${unit}`).join(' ')
}

/**
 * Returns a function that gives the timeout of each attempt to send one call; later attempts get the time that is left. If the caller has set a timeout, the
 * call also waits for a recipient that is offline. Otherwise the first attempt has no timeout, and the daemon says at once who is offline.
 */
export function timeoutPerAttempt(namedTimeoutMs: number | undefined, timeoutMs: number): () => { timeoutMs?: number } {
  const until = performance.now() + timeoutMs
  let isSent = false
  return () => {
    const isFirst = !isSent
    isSent = true
    if (isFirst && namedTimeoutMs === undefined) return {}
    return { timeoutMs: Math.max(1, Math.min(timeoutMs, Math.ceil(until - performance.now()))) }
  }
}
