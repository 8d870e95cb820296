// Questions of daemons to the host (elicitation and the like). Every daemon counts from 0, so their ids are made different: an answer for a
// dead daemon must not reach the next one.

import { lineOf, type Rpc, type RpcId } from './rpc.cts'

export class Questions {
  readonly #open = new Map<unknown, RpcId>()
  #daemons = 0

  /** A daemon's question as a line for the host. */
  asked(question: Rpc): string {
    const id = this.#hostId(question.id as RpcId)
    this.#open.set(id, question.id as RpcId)
    return lineOf({ ...question, id })
  }

  /** The line that cancels a question, which the daemon has taken back. */
  cancelled(notification: Rpc): string {
    const requestId = this.#hostId(notification.params?.requestId as RpcId)
    return lineOf({ ...notification, params: { ...notification.params, requestId } })
  }

  /** The host's answer as a line for the daemon; undefined if the daemon that asked is gone. */
  answered(answer: Rpc): string | undefined {
    const id = this.#open.get(answer.id)
    return this.#open.delete(answer.id) ? lineOf({ ...answer, id }) : undefined
  }

  /** The lines that take back the questions of a daemon that is gone. */
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
