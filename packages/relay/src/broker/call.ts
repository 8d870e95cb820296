// The interfaces of the broker: a call and its answer, a watch and its sink, and the parts from which a workspace is built.

import {
  hostRoutes,
  type Ids,
  type OperationName,
  type OperationRule,
  operations,
  type Refusal,
  type WorkspaceEntry,
} from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { Reader } from '../core/sight.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import type { Store } from '../store/store.ts'
import type { CallDigest, Engine } from './engine.ts'
import type { EntryHub } from './hub.ts'
import type { LongReads } from './long-reads.ts'
import type { Credentials } from './sessions/credentials.ts'
import type { AgentProcesses } from './sessions/person.ts'
import type { Session } from './sessions/session.ts'
import type { Sessions } from './sessions/sessions.ts'
import { namelessActor } from './sessions/standing.ts'
import type { OtherMachines } from './sharing.ts'

/** The context of a call, for the handler that answers it: who asks, and under which id. */
export interface CallContext {
  session: Session
  /** The name of the agent that calls; empty if the session acts as no agent. */
  by: string
  /** The call's own id, chosen by the caller. A repeat of the call has the same id. */
  id: string
  /** Makes a digest of the operation and its input: a call with a used id and another digest is refused. Unset if the daemon itself asks. */
  digest?: CallDigest
  /** Aborted when nobody waits for the answer any more. */
  abandoned: AbortSignal
  /** The ids of the inbox messages in the answer; set by the handler. */
  handedMessages?: readonly string[]
}

export interface CallAnswer<T = unknown> {
  output: T
  /** The ids of the inbox messages in the answer. They count as received only when the connection reports that the answer was sent. */
  handedMessages?: readonly string[]
}

/** Serves a connection whose client has introduced itself (HELLO). */
export interface SessionService {
  welcome: object
  call(op: string, input: unknown, id: string, abandoned?: AbortSignal): Promise<CallAnswer>
  watch(op: string, input: unknown, sink: WatchItemSink): Watch
  /** Called when the answer with these inbox messages was sent. */
  markReceived?(handed: readonly string[]): void
  leave(): void
  /** Aborted when the daemon itself ends the connection; the reason is a RefusalError. */
  ended?: AbortSignal
}

/** Returns the fields by which the journal recognises a repeat of this call: the id of the call becomes the `cause` of its command. */
export function causeOf({ id, digest }: Pick<CallContext, 'id' | 'digest'>): { cause: string; digest?: CallDigest } {
  return { cause: id, digest }
}

/**
 * Returns the name under which the caller acts: its agent's, or, for a session without an agent, the daemon's or `(nobody)`, as its rights say. Refuses a
 * caller without any name.
 */
export function actorOf({ by, session }: CallContext): string {
  const actor = by === '' ? namelessActor(session.standing) : by
  if (actor === undefined) throw new RefusalError('agent.required')
  return actor
}

/** Whether the agent's CLI made the call and not its model, for example by a hook: such a call does not prove that the model has read earlier messages. */
export function isCallByHook(op: OperationName, input: unknown): boolean {
  const { byHook } = operations[op] as OperationRule
  const known: readonly unknown[] = hostRoutes
  return byHook === 'always' || (byHook === 'by route' && known.includes((input as { route?: unknown }).route))
}

export function readerOf(asking: CallContext): Reader & { agent: string } {
  return { agent: actorOf(asking), standing: asking.session.standing }
}

/** The receiver of the items of a watch (a client's subscription), on the side of the connection. */
export interface WatchItemSink {
  /** Whether more may be sent now. If not, the connection calls `drained` on the watch as soon as more may be sent. */
  isReady(): boolean
  item(item: unknown): void
  end(refusal: Refusal): void
}

/** A watch, which keeps sending items to its sink until it is stopped. */
export interface Watch {
  /** The number of a journal entry: the watch covers every later entry. */
  readonly seq: number
  drained(): void
  stop(): void
}

/** The main parts of an open workspace, which are enough for most calls. Its other parts are built on them. */
export interface WorkspaceCore {
  readonly name: string
  readonly store: Store
  readonly engine: Engine
  readonly hub: EntryHub
  readonly sessions: Sessions
  readonly credentials: Credentials
  readonly clock: Clock
  readonly ids: Ids
  readonly reads: LongReads
  readonly otherMachines: OtherMachines
}

/** The core of a workspace, with two things that most of its parts need: who is connected, and whether an agent waits for an approval. */
export interface WorkspaceParts extends WorkspaceCore {
  /** Information that is not in the database and that the rules may use, such as who is connected. */
  readonly world: World
  /** Whether the agent waits for an answer to an approval; no message is shown to the agent meanwhile. */
  isBlocked(agent: string): boolean
}

/** The daemon as its workspaces see it. */
export interface DaemonInfo {
  version: string
  uptimeMs(): number
  lag(): { p50: number; p99: number; max: number }
  socketPath(workspace: string): string
  /** Returns the address of the HTTP server; undefined while there is none. */
  url?(): string | undefined
  /** The sizes of a workspace's files on the disk; undefined for a workspace in memory. */
  fileBytes?(workspace: string): WorkspaceEntry['bytes']
  /** The processes in which connected agents run; see sessions/person.ts. */
  agentProcesses: AgentProcesses
  /** The roles of a daemon of `agent-relay lift`: each call over its port names one of these agents. Unset on any other daemon. */
  roles?: readonly string[]
}
