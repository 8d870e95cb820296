// A raw client that keeps a number of requests in flight over one socket: the same for the echo and for the relay, and no part of the SDK.

import { connect, type Socket } from 'node:net'
import { makeIds } from '@agent-relay/sdk/wire'
import { quantile } from '../figures.ts'
import { serve } from './serve.ts'

export interface LoadQuestion {
  path: string
  /** The agent to be; without one there is no HELLO, as the echo knows none. */
  name?: string
  to: string
  inFlight: number
  ms: number
  bodyBytes: number
}

export interface LoadAnswer {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

const ids = makeIds()
const frame = (type: string, id: string, payload: object) =>
  `${JSON.stringify({ v: 1, type, id, ts: Date.now(), payload })}\n`

function run(question: LoadQuestion): Promise<LoadAnswer> {
  const socket = connect(question.path)
  return new Promise<LoadAnswer>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection ended')))
    socket.setEncoding('utf8')
    new Load(socket, question, resolve, reject).begin()
  }).finally(() => socket.destroy())
}

class Load {
  readonly #socket: Socket
  readonly #question: LoadQuestion
  readonly #done: (answer: LoadAnswer) => void
  readonly #failed: (error: Error) => void
  readonly #body: string
  readonly #sentAt = new Map<string, number>()
  readonly #tookMs: number[] = []
  #startedAt = 0
  #isOver = false
  #rest = ''

  constructor(
    socket: Socket,
    question: LoadQuestion,
    done: (answer: LoadAnswer) => void,
    failed: (error: Error) => void,
  ) {
    this.#socket = socket
    this.#question = question
    this.#done = done
    this.#failed = failed
    this.#body = 'x'.repeat(question.bodyBytes)
  }

  begin(): void {
    this.#socket.on('data', (text) => this.#take(text as unknown as string))
    if (this.#question.name === undefined) return this.#start()
    this.#socket.write(frame('HELLO', 'hello', { name: this.#question.name }))
  }

  #start(): void {
    this.#startedAt = performance.now()
    for (let i = 0; i < this.#question.inFlight; i++) this.#socket.write(this.#next())
    setTimeout(() => this.#finish(), this.#question.ms)
  }

  #finish(): void {
    this.#isOver = true
    const seconds = (performance.now() - this.#startedAt) / 1000
    const took = this.#tookMs
    this.#done({ perSecond: took.length / seconds, p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) })
  }

  #next(): string {
    const id = ids('c')
    this.#sentAt.set(id, performance.now())
    return frame('CALL', id, { op: 'message.send', input: { to: this.#question.to, body: this.#body } })
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() as string
    const now = performance.now()
    let out = ''
    for (const line of lines) {
      const { type, id } = JSON.parse(line)
      if (type === 'WELCOME') return this.#start()
      const sentAt = this.#sentAt.get(id)
      if (type === 'ERROR' || sentAt === undefined) return this.#failed(new Error(line))
      this.#sentAt.delete(id)
      this.#tookMs.push(now - sentAt)
      out += this.#next()
    }
    if (!this.#isOver && out !== '') this.#socket.write(out)
  }
}

serve(run)
