// A client's connection without a network: the daemon's own feed, its MCP sessions and tests call the dispatch directly, as any client would.

import { ConnectionError } from '@agent-relay/sdk'
import type { Turn } from '@agent-relay/sdk/internal/client'
import type { CallName, InputOf, OutputOf, WatchName, Welcome } from '@agent-relay/sdk/protocol'
import { type Closing, errorFrom, type Link, type WatchSink } from '@agent-relay/sdk/wire'
import type { CallAnswer, Watch } from '../broker/call.ts'
import type { Dispatch } from '../broker/dispatch.ts'
import { storeProvisionalName } from '../broker/presence/provisional-names.ts'
import type { Session } from '../broker/sessions/session.ts'
import { RefusalError, toRefusal } from '../core/refusal-error.ts'

export class InProcessLink implements Link {
  readonly welcome: Welcome
  readonly closed: Promise<Closing>
  readonly #dispatch: Dispatch
  readonly #session: Session
  readonly #watches = new Map<string, Watch>()
  readonly #calls = new Map<string, AbortController>()
  /** Number of calls under way. */
  pending = 0
  #close: (closing: Closing) => void = () => {}

  constructor(dispatch: Dispatch, session: Session, welcome: Welcome) {
    this.#dispatch = dispatch
    this.#session = session
    this.welcome = welcome
    this.closed = new Promise((resolve) => {
      this.#close = resolve
    })
    session.ended.addEventListener('abort', () => this.#end(closingOf(session.ended.reason)))
  }

  async call<O extends CallName>(op: O, input: InputOf<O>, id: string): Promise<OutputOf<O>> {
    const call = new AbortController()
    this.#calls.set(id, call)
    try {
      const { output, handedMessages } = await this.#call(op, input, id, call.signal)
      this.#dispatch.markReceived(this.#session, handedMessages)
      return output
    } finally {
      this.#calls.delete(id)
    }
  }

  /**
   * Opens the turn of one `tools/call` of a model: its calls to the relay belong together, and the messages that they hand out count as received once the whole
   * answer has left.
   */
  turn(id: string): Turn {
    const back = this.#dispatch.beginTurn(this.#session, id)
    const handed: string[] = []
    let calls = 0
    return {
      call: async (op, input, signal) => {
        await back
        const name = calls++ === 0 ? id : `${id}.${calls}`
        const answer = await this.#call(op, input, name, signal)
        handed.push(...(answer.handedMessages ?? []))
        return answer.output
      },
      answered: () => this.#dispatch.markReceived(this.#session, handed),
      lost: () => void this.#dispatch.releaseLost(this.#session, handed),
    }
  }

  async #call<O extends CallName>(
    op: O,
    input: InputOf<O>,
    id: string,
    signal?: AbortSignal,
  ): Promise<CallAnswer<OutputOf<O>>> {
    const { ended } = this.#session
    if (ended.aborted) throw hasEnded()
    this.pending++
    try {
      const abandoned = signal ? AbortSignal.any([ended, signal]) : ended
      return (await this.#dispatch.call(this.#session, op, input, id, abandoned)) as CallAnswer<OutputOf<O>>
    } catch (error) {
      // A call that failed because the session ended was not answered: the client may ask again in another session.
      throw ended.aborted ? hasEnded() : errorFrom(toRefusal(error))
    } finally {
      this.pending--
    }
  }

  async watch<O extends WatchName>(
    op: O,
    input: InputOf<O>,
    id: string,
    sink: WatchSink<OutputOf<O>>,
  ): Promise<{ seq: number }> {
    if (this.#session.ended.aborted) throw hasEnded()
    try {
      // The database records by name who gets messages and events, so a provisional name must be stored first.
      if (this.#session.provisional && op !== 'action.follow')
        await storeProvisionalName(this.#dispatch.workspace, this.#session)
      const watch = this.#dispatch.watch(this.#session, op, input, {
        isReady: () => this.#watches.has(id),
        item: (item) => sink.item(item as OutputOf<O>),
        end: (refused) => {
          this.#watches.delete(id)
          sink.end(refused)
        },
      })
      this.#watches.set(id, watch)
      return { seq: watch.seq }
    } catch (error) {
      throw errorFrom(toRefusal(error))
    }
  }

  unwatch(id: string): void {
    this.#watches.get(id)?.stop()
    this.#watches.delete(id)
    this.#calls.get(id)?.abort()
  }

  async close(): Promise<void> {
    this.#end({ how: 'asked' })
    this.#dispatch.workspace.sessions.end(this.#session)
  }

  #end(closing: Closing): void {
    for (const id of [...this.#watches.keys()]) this.unwatch(id)
    this.#close(closing)
  }
}

function closingOf(reason: unknown): Closing {
  return reason instanceof RefusalError ? { how: 'refused', refusal: reason.refusal } : { how: 'lost' }
}

function hasEnded(): ConnectionError {
  return new ConnectionError('the session has ended')
}
