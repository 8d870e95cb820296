// The connection of a permission hook: it says who it is, asks, and waits for the answer, also across restarts of the daemon. Loaded in the time of a
// bare Node, like the other hooks.

import { connect, type Socket } from 'node:net'
import { reachDaemon } from '@agent-relay/sdk/internal/discover'
import { newPipeId } from '../pipe/opening.cts'

export interface Over {
  how: string
  choice?: string
  kind?: 'allow' | 'always' | 'deny' | 'other'
  words?: string
  answers?: string[]
}

/** Between two attempts to reach a daemon that has gone, at first and at most. */
const [againMs, againMsMax] = [250, 5_000]
/** What was answered at the terminal is told to the next daemon, if one comes within this time. */
const farewellMs = 10_000

/**
 * As much of the protocol as this hook needs: it says who it is, and asks. Where the daemon ends meanwhile, it asks the next one, with the same
 * key: there it is the same question, and an answer that was given meanwhile is handed over. Without a daemon at the beginning there is nobody
 * to ask.
 */
export class ApprovalLine {
  readonly over: Promise<Over>
  readonly #identity: object
  readonly #ask: object
  #socket!: Socket
  #isKnown = false
  #settled: object | undefined
  #waitMs = againMs
  #resolve: (over: Over) => void = () => {}

  constructor(socket: Socket, identity: object, ask: object) {
    this.#identity = identity
    this.#ask = ask
    this.over = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#begin(socket)
  }

  /** It is over, and not by an answer of the daemon. */
  settle(input: object): void {
    if (this.#settled) return
    this.#settled = input
    if (this.#socket.writable && this.#isKnown) this.#say('CALL', { op: 'approval.settle', input })
    setTimeout(() => process.exit(), farewellMs).unref()
  }

  #begin(socket: Socket): void {
    this.#socket = socket
    let text = ''
    socket.on('error', () => socket.destroy()).on('close', () => this.#later())
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n')
      text = lines.pop() as string
      for (const line of lines) this.#hear(JSON.parse(line))
    })
    this.#say('HELLO', this.#identity)
  }

  #later(): void {
    if (!this.#isKnown) process.exit()
    setTimeout(() => {
      reachDaemon().then(
        ({ socketPath, socket }) => this.#begin(socket ?? connect(socketPath)),
        () => this.#later(),
      )
    }, this.#waitMs)
    this.#waitMs = Math.min(againMsMax, 2 * this.#waitMs)
  }

  #say(type: 'HELLO' | 'CALL', payload: object): void {
    this.#socket.write(`${JSON.stringify({ v: 1, type, id: newPipeId(), ts: Date.now(), payload })}\n`)
  }

  #hear({ type, payload }: { type: string; payload: Over }): void {
    if (type === 'WELCOME') {
      this.#isKnown = true
      this.#waitMs = againMs
      this.#say('CALL', { op: 'approval.ask', input: this.#ask })
      if (this.#settled) this.#say('CALL', { op: 'approval.settle', input: this.#settled })
    } else if (type === 'ERROR') {
      // One that was known before may come back sooner than its agent.
      if (!this.#isKnown) process.exit()
      this.#socket.destroy()
    } else if (type === 'ACK' && payload.how !== undefined && payload.how !== 'restart') this.#resolve(payload)
  }
}
