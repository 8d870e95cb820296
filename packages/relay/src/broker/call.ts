// The contracts of the broker: a call and its answer, a watch and its sink, and the parts from which a workspace is built.

import {
  hostRoutes,
  type Ids,
  type OperationName,
  type OperationRule,
  operations,
  type Refusal,
} from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'
import type { Reader } from '../core/sight.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import type { Store } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { Hub } from './hub.ts'
import type { LongReads } from './long-reads.ts'
import type { Credentials } from './sessions/credentials.ts'
import type { AgentProcesses } from './sessions/person.ts'
import type { Session } from './sessions/session.ts'
import type { Sessions } from './sessions/sessions.ts'
import { namelessActor } from './sessions/standing.ts'
import type { OtherMachines } from './sharing.ts'

/** A call without its input, as its handler sees it. */
export interface Asking {
  session: Session
  /** The agent that asks; empty only for operations that anyone may ask. */
  by: string
  /** The call's own id, which makes a repeat recognisable. */
  id: string
  /** A digest of the operation and its input: the same id with another digest is refused. Unset if the daemon itself asks. */
  digest?: () => string
  /** Aborted when nobody waits for the answer any more. */
  abandoned: AbortSignal
  /** Set by the handler: messages that leave with the answer. */
  handed?: readonly string[]
}

export interface Answer<T = unknown> {
  output: T
  /** Messages that leave with the answer. The wire reports whether it has left: only then were they received. */
  handed?: readonly string[]
}

/** Serves a connection that has introduced itself. */
export interface Service {
  welcome: object
  call(op: string, input: unknown, id: string, abandoned?: AbortSignal): Promise<Answer>
  watch(op: string, input: unknown, sink: Sink): Watch
  /** Called when the answer with these messages has left. */
  received?(handed: readonly string[]): void
  leave(): void
  /** Aborted when the daemon itself ends the connection; the reason is a RefusalError. */
  ended?: AbortSignal
}

/** The cause of a call's command: the journal names a command after the call that asked for it. */
export function causeOf({ id, digest }: Pick<Asking, 'id' | 'digest'>): { cause: string; digest?: () => string } {
  return { cause: id, digest }
}

/** The name under which the caller acts, even if its session has none. */
export function actorOf({ by, session }: Asking): string {
  const actor = by === '' ? namelessActor(session.standing) : by
  if (actor === undefined) throw new RefusalError('agent.required')
  return actor
}

/** Whether the agent's CLI made the call, for example by a hook: such a call does not show that the agent has come back. */
export function isByHost(op: OperationName, input: unknown): boolean {
  const { byHost } = operations[op] as OperationRule
  const known: readonly unknown[] = hostRoutes
  return byHost === 'always' || (byHost === 'by route' && known.includes((input as { route?: unknown }).route))
}

export function readerOf(asking: Asking): Reader & { agent: string } {
  return { agent: actorOf(asking), standing: asking.session.standing }
}

/** Where a watch sends its items: the wire's side. */
export interface Sink {
  /** Whether more may be sent now. If not, the wire calls `drained` on the watch as soon as it may. */
  isReady(): boolean
  item(item: unknown): void
  end(refusal: Refusal): void
}

/** Something that keeps sending to a sink until it is stopped. */
export interface Watch {
  /** The number of a journal entry: the watch covers every later one. */
  readonly seq: number
  drained(): void
  stop(): void
}

/** The main parts of an open workspace, on which its other parts are built: enough for most calls. */
export interface WorkspaceCore {
  readonly name: string
  readonly store: Store
  readonly engine: Engine
  readonly hub: Hub
  readonly sessions: Sessions
  readonly credentials: Credentials
  readonly clock: Clock
  readonly ids: Ids
  readonly reads: LongReads
  readonly otherMachines: OtherMachines
}

/** The core, and what most parts of a workspace need besides. */
export interface Parts extends WorkspaceCore {
  /** Information that is not in the database and that the rules may use, such as who is connected. */
  readonly world: World
  /** Whether the agent waits for an answer to an approval; nothing is put before the agent meanwhile. */
  isBlocked(agent: string): boolean
}

/** The daemon as its workspaces see it. */
export interface DaemonInfo {
  version: string
  uptimeMs(): number
  lag(): { p50: number; p99: number; max: number }
  socketPath(workspace: string): string
  /** The address of the HTTP server; undefined while there is none. */
  url?(): string | undefined
  /** The processes of agents; see sessions/person.ts. */
  agentProcesses: AgentProcesses
  /** The roles of a lift's daemon: each call over its port names one of these agents. */
  roles?: readonly string[]
}
