// What daemons ask the host (elicitation and the like). Every daemon counts from 0, so their ids are made different: an answer for a
// dead daemon must not reach the next one.

import { lineOf, type Rpc, type RpcId } from './rpc.cts'

export class Questions {
  readonly #open = new Map<unknown, RpcId>()
  #daemons = 0

  /** The line as the host sees it. */
  asked(question: Rpc): string {
    const id = this.#hostId(question.id as RpcId)
    this.#open.set(id, question.id as RpcId)
    return lineOf({ ...question, id })
  }

  /** The daemon has taken a question back. */
  cancelled(notification: Rpc): string {
    const requestId = this.#hostId(notification.params?.requestId as RpcId)
    return lineOf({ ...notification, params: { ...notification.params, requestId } })
  }

  /** The line as the daemon sees it; undefined where the daemon that asked is gone. */
  answered(answer: Rpc): string | undefined {
    const id = this.#open.get(answer.id)
    return this.#open.delete(answer.id) ? lineOf({ ...answer, id }) : undefined
  }

  /** The daemon is gone: takes back its questions for it. */
  withdraw(): string {
    const lines = [...this.#open.keys()].map((requestId) =>
      lineOf({ method: 'notifications/cancelled', params: { requestId, reason: 'The relay daemon is away.' } }),
    )
    this.#open.clear()
    this.#daemons++
    return lines.join('')
  }

  #hostId(id: RpcId): string {
    return `${this.#daemons}:${JSON.stringify(id)}`
  }
}
