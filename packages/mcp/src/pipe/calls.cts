// The host's requests without an answer yet: those to send again after a restart, and the deadlines by which each is answered without the daemon.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { isEventSubscription, type RpcId, type RpcMessage } from './rpc.cts'

const daemonAwayMs = waitLimitMs('away')
/** Limits of the requests that are kept to be sent again. A request beyond them is passed on, but nobody knows its outcome if the daemon dies. */
const keptBytesMax = 32 * 1024 * 1024
const keptCallsMax = 500
const idCharsMax = 1_000
/** Maximum number of remembered ids of abandoned calls, whose late answers are dropped. */
const abandonedMax = 100

/** Monotonic time in ms. `performance` is not used, since loading it takes 2 ms. */
export const nowMs = () => process.uptime() * 1_000

export interface OpenCall {
  readonly id: RpcId
  readonly method: string
  readonly params: RpcMessage['params']
  /** The request's line; undefined if it cannot be sent again. */
  line: Buffer | undefined
  /** Whether the request was sent to a daemon, which may have carried it out. */
  wasSent: boolean
  /** When the request is answered without the daemon, in the time of `nowMs`; checked only while the daemon is away. */
  deadline: number
}

export class OpenCalls {
  readonly #open = new Map<RpcId, OpenCall>()
  readonly #abandoned = new Set<RpcId>()
  #bytes = 0
  #kept = 0

  /** All calls in the order in which they came. */
  all(): OpenCall[] {
    return [...this.#open.values()]
  }

  get size(): number {
    return this.#open.size
  }

  add(id: RpcId, { method = '', params }: RpcMessage, line: Buffer): OpenCall {
    this.remove(id)
    this.#abandoned.delete(id)
    const fits =
      this.#bytes + line.length <= keptBytesMax && this.#kept < keptCallsMax && String(id).length <= idCharsMax
    // Keeps only the tool's name, since the arguments may be large. The arguments of a subscription are needed later.
    const isLarge = method === 'tools/call' && !isEventSubscription(params)
    const brief = isLarge ? { name: params?.name } : params
    const call: OpenCall = {
      id,
      method,
      params: brief,
      line: fits ? line : undefined,
      wasSent: false,
      deadline: Number.POSITIVE_INFINITY,
    }
    this.#open.set(id, call)
    if (fits) {
      this.#bytes += line.length
      this.#kept++
    }
    return call
  }

  /** Removes a call that was answered, by the daemon or without it. */
  remove(id: RpcId): OpenCall | undefined {
    const call = this.#open.get(id)
    if (!call) return undefined
    this.#open.delete(id)
    if (call.line) {
      this.#bytes -= call.line.length
      this.#kept--
    }
    return call
  }

  /** Removes a call that nobody waits for any more: it must not be sent again, and a late answer to it is not passed on. */
  abandon(id: RpcId): OpenCall | undefined {
    const call = this.remove(id)
    if (!call?.wasSent) return call
    this.#abandoned.delete(id)
    this.#abandoned.add(id)
    for (const oldest of this.#abandoned) {
      if (this.#abandoned.size <= abandonedMax) break
      this.#abandoned.delete(oldest)
    }
    return call
  }

  isAbandoned(id: RpcId): boolean {
    return this.#abandoned.has(id)
  }

  /** Ids of the requests that were sent to the last daemon and never answered, for the next daemon. */
  unansweredIds(): RpcId[] {
    const open = this.all().filter(({ wasSent, line }) => wasSent && line !== undefined)
    return [...this.#abandoned, ...open.map(({ id }) => id)].filter((id) => String(id).length <= idCharsMax)
  }

  /** Gives every call a deadline, since the daemon is away. A call that has one from an earlier absence keeps it. */
  startDeadlines(): void {
    const deadline = nowMs() + daemonAwayMs
    for (const call of this.#open.values()) call.deadline = Math.min(call.deadline, deadline)
  }

  /** The calls past their deadline, and the time until the next deadline. */
  overdue(): { late: OpenCall[]; nextMs: number | undefined } {
    const now = nowMs()
    const late: OpenCall[] = []
    for (const call of this.#open.values()) {
      if (call.deadline > now) return { late, nextMs: call.deadline - now }
      late.push(call)
    }
    return { late, nextMs: undefined }
  }

  /** Forgets all calls, because the host starts again and its old ids mean nothing any more. */
  clear(): void {
    for (const id of [...this.#open.keys()]) this.remove(id)
    this.#abandoned.clear()
  }
}
