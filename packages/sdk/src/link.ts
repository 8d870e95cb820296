// The interface of a link: one live connection to a workspace. The implementations (socket, WebSocket, in process) pass the same tests.

import type { Hello, Welcome } from './protocol/frames.ts'
import type { CallName, InputOf, OutputOf, WatchName } from './protocol/operations.ts'
import type { Refusal } from './protocol/refusals.ts'

export interface Link {
  readonly welcome: Welcome
  /** Calls an operation; rejects with a RelayError. `id` identifies the command: the daemon carries it out once, however often it is sent under this id. */
  call<O extends CallName>(op: O, input: InputOf<O>, id: string): Promise<OutputOf<O>>
  /** Sets a watch up. Resolves with the number of the journal entry after which no item is missed; items then come until `unwatch`. */
  watch<O extends WatchName>(
    op: O,
    input: InputOf<O>,
    id: string,
    sink: WatchSink<OutputOf<O>>,
  ): Promise<{ seq: number }>
  /** Ends a watch, or gives up a call that waits for a reply. */
  unwatch(id: string): void
  /** Says goodbye and ends the link; calls in flight reject with a ConnectionError. */
  close(): Promise<void>
  /** Resolves when the link has ended for whatever reason. */
  readonly closed: Promise<Closing>
}

/**
 * A turn: the calls that answer one question of a model. Call `answered` when the whole answer has been sent, or `lost` when it never will be: the daemon may
 * then hand out the turn's messages again.
 */
export interface Turn {
  call<O extends CallName>(op: O, input: InputOf<O>, signal?: AbortSignal): Promise<OutputOf<O>>
  answered(): void
  lost(): void
  /** The roles of a lift (a piece of work that several sessions share). Only in a lift may a session say which role it acts as. */
  readonly roles?: Roles
}

/** The roles of a lift (a piece of work that several sessions share), as one turn may use them. */
export interface Roles {
  readonly names: readonly string[]
  /** The role that this session acts as: it has proved or chosen it. Unset: none yet. */
  readonly own?: string
  /**
   * Returns the same turn, acting as that role; throws if this session may not act as it. Messages handed to the role count as received when the answer of the
   * whole turn has been sent.
   */
  as(role: string): Turn
}

export interface WatchSink<T> {
  item(item: T): void
  /** Called when the other side has ended the watch; the link itself stays open. */
  end(refusal: Refusal): void
}

export interface Closing {
  /** `asked`: this side closed the link. `lost`: the other side is gone. `refused`: the other side gave a reason. */
  how: 'asked' | 'lost' | 'refused'
  refusal?: Refusal
}

/** Opens a link and sends HELLO over it; rejects with DaemonNotRunningError if no daemon listens. */
export type Connector = (hello: Hello) => Promise<Link>
