// The contract of one live connection to a workspace. Socket, WebSocket and in-process links pass one shared test suite.

import type { Hello, Welcome } from './protocol/frames.ts'
import type { CallName, InputOf, OutputOf, WatchName } from './protocol/operations.ts'
import type { Refusal } from './protocol/refusals.ts'

export interface Link {
  readonly welcome: Welcome
  /** Calls an operation; rejects with a RelayError. The id names the command: sent again under the same id, it still runs once. */
  call<O extends CallName>(op: O, input: InputOf<O>, id: string): Promise<OutputOf<O>>
  /** Resolves once the watch is set up, with the number from which on nothing is missed; then items come until `unwatch`. */
  watch<O extends WatchName>(
    op: O,
    input: InputOf<O>,
    id: string,
    sink: WatchSink<OutputOf<O>>,
  ): Promise<{ seq: number }>
  /** Ends a watch, or gives up a call that waits for a reply. */
  unwatch(id: string): void
  /** Says goodbye and ends; calls in flight reject with a ConnectionError. */
  close(): Promise<void>
  /** Settles once, when the link is gone for whatever reason. */
  readonly closed: Promise<Closing>
}

/**
 * The calls that answer one question of a model, and are named after that question. `answered` says that the whole answer has left, `lost` that it never will:
 * messages that it handed out are free again.
 */
export interface Turn {
  call<O extends CallName>(op: O, input: InputOf<O>, signal?: AbortSignal): Promise<OutputOf<O>>
  answered(): void
  lost(): void
  /** The roles of a lift, the only place where a session may say which role it acts as. */
  readonly roles?: Roles
}

/** The roles of a lift, as the calls of one turn may use them. */
export interface Roles {
  readonly names: readonly string[]
  /** The name that this session has shown or chosen. */
  readonly own?: string
  /** The same turn, acting as that role; throws where this session may not. The role's answer leaves with the turn's own. */
  as(role: string): Turn
}

export interface WatchSink<T> {
  item(item: T): void
  /** The other side ended the watch; the link itself lives on. */
  end(refusal: Refusal): void
}

export interface Closing {
  /** `asked`: we closed it. `lost`: the other side is gone. `refused`: the other side gave a reason. */
  how: 'asked' | 'lost' | 'refused'
  refusal?: Refusal
}

/** Opens a link and introduces itself; rejects with DaemonNotRunningError when nobody listens. */
export type Connector = (hello: Hello) => Promise<Link>
