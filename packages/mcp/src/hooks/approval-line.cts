// The connection of a permission hook to the daemon: asks for an approval and waits for the answer, also across restarts of the daemon.

import { connect, type Socket } from 'node:net'
import { reachDaemon } from '@agent-relay/sdk/internal/discover'
import { WireClient } from '@agent-relay/sdk/internal/wire-client'

export interface ApprovalOutcome {
  how: string
  choice?: string
  kind?: 'allow' | 'always' | 'deny' | 'other'
  words?: string
  answers?: string[]
}

/** The first and the longest pause between attempts to reach the next daemon. */
const [reconnectMs, reconnectMsMax] = [250, 5_000]
/** How long the hook looks for a daemon, in ms, to report that the person has answered in the terminal. */
const farewellMs = 10_000

/**
 * Asks for an approval. If the daemon ends, asks the next one with the same key: it recognizes the question, and returns an answer that was given
 * meanwhile. Ends the process if the first connection is refused or fails: then nobody could answer.
 */
export class ApprovalConnection {
  readonly outcome: Promise<ApprovalOutcome>
  readonly #identity: object
  readonly #ask: object
  #client!: WireClient
  #isKnown = false
  #settled: object | undefined
  #waitMs = reconnectMs
  #resolve: (over: ApprovalOutcome) => void = () => {}

  constructor(socket: Socket, identity: object, ask: object) {
    this.#identity = identity
    this.#ask = ask
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#connect(socket)
  }

  /** Reports to the daemon that the question is settled without it: answered in the terminal, or cancelled. */
  settle(input: object): void {
    if (this.#settled) return
    this.#settled = input
    void this.#client.call('approval.settle', input)
    setTimeout(() => process.exit(), farewellMs).unref()
  }

  #connect(socket: Socket): void {
    const client = new WireClient(socket, this.#identity, () => {
      // After one accepted connection, a refusal is tried again: the hook may reach a restarted daemon before its agent does, and is unknown there
      // until then.
      if (client.isWelcome) this.#isKnown = true
      if (!this.#isKnown) process.exit()
      if (client.isWelcome) this.#waitMs = reconnectMs
      this.#reconnectLater()
    })
    this.#client = client
    void client.call<ApprovalOutcome>('approval.ask', this.#ask).then((over) => {
      if (over.how !== 'restart') this.#resolve(over)
    })
    if (this.#settled) void client.call('approval.settle', this.#settled)
  }

  #reconnectLater(): void {
    setTimeout(() => {
      reachDaemon().then(
        ({ socketPath, socket = connect(socketPath) }) => this.#connect(socket),
        () => this.#reconnectLater(),
      )
    }, this.#waitMs)
    this.#waitMs = Math.min(reconnectMsMax, 2 * this.#waitMs)
  }
}
