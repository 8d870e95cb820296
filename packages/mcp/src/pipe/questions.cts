// Requests that daemons make to the host, such as elicitation. Every daemon counts its ids from 0, so the pipe makes them distinct: an answer for a
// daemon that has ended must not reach the next one.

import { type RpcId, type RpcMessage, rpcLine } from './rpc.cts'

export class DaemonQuestions {
  readonly #open = new Map<unknown, RpcId>()
  #daemons = 0

  /** A daemon's question as a line for the host. */
  lineForHost(question: RpcMessage): string {
    const id = this.#hostId(question.id as RpcId)
    this.#open.set(id, question.id as RpcId)
    return rpcLine({ ...question, id })
  }

  /** The line that cancels a question, which the daemon has taken back. */
  cancellingLine(notification: RpcMessage): string {
    const requestId = this.#hostId(notification.params?.requestId as RpcId)
    return rpcLine({ ...notification, params: { ...notification.params, requestId } })
  }

  /** The host's answer as a line for the daemon; undefined if the daemon that asked is gone. */
  lineForDaemon(answer: RpcMessage): string | undefined {
    const id = this.#open.get(answer.id)
    return this.#open.delete(answer.id) ? rpcLine({ ...answer, id }) : undefined
  }

  /** The lines that take back the questions of a daemon that is gone. */
  withdrawAll(): string {
    const lines = [...this.#open.keys()].map((requestId) =>
      rpcLine({ method: 'notifications/cancelled', params: { requestId, reason: 'The relay daemon is away.' } }),
    )
    this.#open.clear()
    this.#daemons++
    return lines.join('')
  }

  #hostId(id: RpcId): string {
    return `${this.#daemons}:${JSON.stringify(id)}`
  }
}
