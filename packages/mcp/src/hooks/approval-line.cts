// The connection of a permission hook: it asks for an approval and waits for the answer, also across restarts of the daemon.

import { connect, type Socket } from 'node:net'
import { reachDaemon } from '@agent-relay/sdk/internal/discover'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'

export interface Over {
  how: string
  choice?: string
  kind?: 'allow' | 'always' | 'deny' | 'other'
  words?: string
  answers?: string[]
}

/** The first and the longest pause between attempts to reach the next daemon. */
const [againMs, againMsMax] = [250, 5_000]
/** The time in which the hook looks for a daemon to tell about an answer at the terminal. */
const farewellMs = 10_000

/**
 * Asks the next daemon with the same key when the first one ends: there it is the same question, and an answer that was given meanwhile is
 * handed over. Ends the process if no daemon accepts the first connection: then nobody could answer.
 */
export class ApprovalLine {
  readonly over: Promise<Over>
  readonly #identity: object
  readonly #ask: object
  #client!: WireClient
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

  /** Reports an end that was not an answer of the daemon. */
  settle(input: object): void {
    if (this.#settled) return
    this.#settled = input
    void this.#client.call('approval.settle', input)
    setTimeout(() => process.exit(), farewellMs).unref()
  }

  #begin(socket: Socket): void {
    const client = new WireClient(socket, this.#identity, () => {
      // The daemon may refuse a hook that it knows, if the hook comes back sooner than its agent.
      if (client.isWelcome) this.#isKnown = true
      if (!this.#isKnown) process.exit()
      if (client.isWelcome) this.#waitMs = againMs
      this.#later()
    })
    this.#client = client
    void client.call<Over>('approval.ask', this.#ask).then((over) => {
      if (over.how !== 'restart') this.#resolve(over)
    })
    if (this.#settled) void client.call('approval.settle', this.#settled)
  }

  #later(): void {
    setTimeout(() => {
      reachDaemon().then(
        ({ socketPath, socket = connect(socketPath) }) => this.#begin(socket),
        () => this.#later(),
      )
    }, this.#waitMs)
    this.#waitMs = Math.min(againMsMax, 2 * this.#waitMs)
  }
}
