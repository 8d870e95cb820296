// The host's requests that have no answer yet: what to send again after a restart, and by when each must be answered without the daemon.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { isSubscription, type Rpc, type RpcId } from './rpc.cts'

const daemonAwayMs = waitLimitMs('away')
/** Lines kept for sending again. A request beyond these limits is passed on, but what became of it is unknown if the daemon dies. */
const keptBytesMax = 32 * 1024 * 1024
const keptCallsMax = 500
const idCharsMax = 1_000
/** Ids whose answers nobody waits for any more. */
const deadMax = 100

/** `performance` would be loaded first, which takes 2 ms. */
export const nowMs = () => process.uptime() * 1_000

export interface Call {
  readonly id: RpcId
  readonly method: string
  readonly params: Rpc['params']
  /** Undefined where it cannot be sent again. */
  line: Buffer | undefined
  /** It has reached a daemon, which may have carried it out. */
  wasSent: boolean
  /** In the time of `nowMs`. It counts while the daemon is away. */
  deadline: number
}

export class Calls {
  readonly #open = new Map<RpcId, Call>()
  readonly #dead = new Set<RpcId>()
  #bytes = 0
  #kept = 0

  /** In the order in which they came. */
  all(): Call[] {
    return [...this.#open.values()]
  }

  get size(): number {
    return this.#open.size
  }

  add(id: RpcId, { method = '', params }: Rpc, line: Buffer): Call {
    this.take(id)
    this.#dead.delete(id)
    const fits =
      this.#bytes + line.length <= keptBytesMax && this.#kept < keptCallsMax && String(id).length <= idCharsMax
    // Of a large call only the name of its tool matters later; of a subscription, what was subscribed.
    const isLarge = method === 'tools/call' && !isSubscription(params)
    const brief = isLarge ? { name: params?.name } : params
    const call: Call = {
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

  /** Its answer is here, or was given without the daemon. */
  take(id: RpcId): Call | undefined {
    const call = this.#open.get(id)
    if (!call) return undefined
    this.#open.delete(id)
    if (call.line) {
      this.#bytes -= call.line.length
      this.#kept--
    }
    return call
  }

  /** Nobody waits for its answer any more: it must not be sent again, and an answer that comes after all is not passed on. */
  bury(id: RpcId): Call | undefined {
    const call = this.take(id)
    if (!call?.wasSent) return call
    this.#dead.delete(id)
    this.#dead.add(id)
    for (const oldest of this.#dead) {
      if (this.#dead.size <= deadMax) break
      this.#dead.delete(oldest)
    }
    return call
  }

  isDead(id: RpcId): boolean {
    return this.#dead.has(id)
  }

  /** What a new daemon must know: these were sent to the last one, and their answers never arrived. */
  unanswered(): RpcId[] {
    const open = this.all().filter(({ wasSent, line }) => wasSent && line !== undefined)
    return [...this.#dead, ...open.map(({ id }) => id)].filter((id) => String(id).length <= idCharsMax)
  }

  /** The daemon is away: every call gets a deadline. A call that has one from an earlier absence keeps it. */
  startClocks(): void {
    const deadline = nowMs() + daemonAwayMs
    for (const call of this.#open.values()) call.deadline = Math.min(call.deadline, deadline)
  }

  /** The calls that are past their deadline, and the time until the next one is. */
  due(): { late: Call[]; nextMs: number | undefined } {
    const now = nowMs()
    const late: Call[] = []
    for (const call of this.#open.values()) {
      if (call.deadline > now) return { late, nextMs: call.deadline - now }
      late.push(call)
    }
    return { late, nextMs: undefined }
  }

  /** The host starts again: its old ids mean nothing now. */
  forget(): void {
    for (const id of [...this.#open.keys()]) this.take(id)
    this.#dead.clear()
  }
}
