// JSON-RPC with a program: our calls and their answers, and the program's requests and notifications. The transport is passed in; the messages are
// interpreted by the users of this class. Each call is settled once, and each request of the program is answered at most once.

import { parseJson } from '@agent-relay/sdk/internal/parse-json'

/** Maximum number of characters reported of a text that is not a JSON-RPC message. */
const strayCharsMax = 200
const errorCharsMax = 500

export interface RpcListener {
  /** Called with a request, which may be answered at once or later. `id` is as the program wrote it. */
  onRequest(method: string, params: unknown, reply: RpcReply, id: unknown): void
  onNotification(method: string, params: unknown): void
  /** Called with a text that is not a JSON-RPC message. */
  onStray?(text: string): void
}

/** Answers a request; only the first answer is sent. */
export interface RpcReply {
  result(value: object): void
  error(code: number, message: string): void
}

interface PendingCall {
  resolve(result: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout | undefined
}

/** An error with which the program has answered a call. */
export class RpcError extends Error {}

export class JsonRpc {
  readonly #send: (message: object) => void
  readonly #listener: RpcListener
  readonly #pending = new Map<number, PendingCall>()
  #calls = 0
  isOver = false

  constructor(send: (message: object) => void, listener: RpcListener) {
    this.#send = (message) => void (this.isOver || send(message))
    this.#listener = listener
  }

  /** Makes a call. Without `withinMs` there is no time limit, since the call may take hours. */
  call(method: string, params: object, withinMs?: number): Promise<unknown> {
    const id = this.#calls++
    return new Promise((resolve, reject) => {
      if (this.isOver) return reject(new Error('it has ended'))
      const giveUp = () => this.#settle(id, ({ reject }) => reject(new Error(`it did not answer ${method}`)))
      const timer = withinMs === undefined ? undefined : setTimeout(giveUp, withinMs)
      this.#pending.set(id, { resolve, reject, timer })
      this.#send({ id, method, params })
    })
  }

  notify(method: string, params?: object): void {
    this.#send({ method, params })
  }

  /** Ends the connection: nothing more is sent, and open calls fail. */
  end(): void {
    this.isOver = true
    for (const id of [...this.#pending.keys()]) this.#settle(id, ({ reject }) => reject(new Error('it has ended')))
  }

  receive(text: string): void {
    const message = messageIn(text)
    if (!message) return this.#listener.onStray?.(text.slice(0, strayCharsMax))
    const { id, method, params, result, error } = message
    if (typeof method === 'string' && id === undefined) this.#listener.onNotification(method, params)
    else if (typeof method === 'string') this.#listener.onRequest(method, params, this.replyTo(id), id)
    else if (typeof id === 'number')
      this.#settle(id, ({ resolve, reject }) => (error ? reject(new RpcError(errorText(error))) : resolve(result)))
  }

  replyTo(id: unknown): RpcReply {
    let isAnswered = false
    const once = (answer: object) => {
      if (!isAnswered) this.#send({ id, ...answer })
      isAnswered = true
    }
    return {
      result: (result) => once({ result }),
      error: (code, message) => once({ error: { code, message } }),
    }
  }

  #settle(id: number, settle: (pending: PendingCall) => void): void {
    const pending = this.#pending.get(id)
    if (!pending) return
    this.#pending.delete(id)
    clearTimeout(pending.timer)
    settle(pending)
  }
}

function messageIn(
  text: string,
): Partial<Record<'id' | 'method' | 'params' | 'result' | 'error', unknown>> | undefined {
  try {
    const message = parseJson(text)
    return typeof message === 'object' && message !== null ? message : undefined
  } catch {
    return undefined
  }
}

function errorText(error: unknown): string {
  const { message, data } = error as { message?: unknown; data?: unknown }
  const more = typeof data === 'object' && data !== null ? (data as { details?: unknown }).details : data
  const words = [message, more].filter((each) => typeof each === 'string')
  return (words.length > 0 ? words.join(': ') : JSON.stringify(error)).slice(0, errorCharsMax)
}
