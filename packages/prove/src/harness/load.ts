// A load for trials: eight agents send and eight receive over the SDK, and a history keeps what was acknowledged and what was shown.

import { ConnectionError, type RelayClient, type RelayError } from '@agent-relay/sdk'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { connectClient } from './clients.ts'
import { type MessageHistory, messageBody, type RecordedSend } from './history.ts'
import { settlesWithin, sleep, type Trial } from './processes.ts'
import type { Random } from './random.ts'

const pairs = 8
/** Client limits for a quick reconnect: if a daemon lives only for a moment, only clients that reconnect at once reach it. */
const quickReconnect = { backoffMsMax: 100 }
/** Client limits without retries: if such a client loses its connection, it does not know the outcome of its sends. */
const withoutRepeats = { ...quickReconnect, callTriesMax: 1 }

export interface MessageLoadOptions {
  /** The trial to whose daemon the receivers connect. Left out: they connect to the senders' daemon, as only one machine takes part. */
  receivers?: Trial
  /** Code of a refusal that the trial expects, and that means that the message was not stored. */
  expected?: string
  /** Code of a refusal that the trial expects, and after which nobody knows whether the message was stored. */
  undecided?: string
}

export class MessageLoad {
  readonly errors: string[] = []
  readonly #history: MessageHistory
  readonly #random: Random
  readonly #trial: Trial
  readonly #options: MessageLoadOptions
  readonly #senders: { client: RelayClient; done: Promise<void> }[] = []
  readonly #receivers: Receiver[] = []
  #isOver = false

  private constructor(trial: Trial, history: MessageHistory, random: Random, options: MessageLoadOptions) {
    this.#trial = trial
    this.#history = history
    this.#random = random
    this.#options = options
  }

  static async start(
    trial: Trial,
    history: MessageHistory,
    random: Random,
    options: MessageLoadOptions = {},
  ): Promise<MessageLoad> {
    const load = new MessageLoad(trial, history, random, options)
    const { errors } = load
    for (let i = 0; i < pairs; i++) {
      const client = await connectClient(options.receivers ?? trial, `to-${i}`, {
        limits: quickReconnect,
        faults: errors,
      })
      load.#receivers.push(new Receiver(client, history))
    }
    for (let i = 0; i < pairs; i++) {
      const client = await connectClient(trial, `from-${i}`, {
        limits: i % 4 === 0 ? withoutRepeats : quickReconnect,
        faults: errors,
      })
      if (i === 0) await knowsAll(client)
      load.#senders.push({ client, done: load.#send(client) })
    }
    return load
  }

  /** Makes about half of the receivers change between listening for messages and polling their inbox. */
  switchReceivers(): void {
    for (const receiver of this.#receivers) if (this.#random.next() < 0.5) receiver.switchWay()
  }

  /**
   * Ends the sending, and waits until every acknowledged message is shown. If no message comes for `drainMs` milliseconds, the missing ones count as
   * lost.
   */
  async finish(drainMs = waitLimitMs('prove')): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#senders.map(({ done }) => done))
    await this.#drain(drainMs)
    // A send with an unknown outcome may have been stored too. This wait lets such a message, or a second delivery of a message, still arrive.
    await sleep(500)
    for (const receiver of this.#receivers) await receiver.stop()
    for (const { client } of this.#senders) await client.disconnect()
  }

  /** Waits until every acknowledged message is shown to its receiver, or until no message has come for `drainMs` milliseconds. */
  async #drain(drainMs: number): Promise<void> {
    const { acked, sends, shown } = this.#history
    const isAllShown = () => {
      const seen = new Set(shown.map(({ by, from, n }) => `${from} ${by} ${n}`))
      return sends.every(({ from, to, n, outcome }) => outcome !== 'acked' || seen.has(`${from} ${to} ${n}`))
    }
    let [count, since] = [shown.length, performance.now()]
    while (!(shown.length >= acked && isAllShown()) && performance.now() - since < drainMs) {
      if (shown.length > count) [count, since] = [shown.length, performance.now()]
      this.#trial.reportProgress(`${count} of ${acked} messages shown`)
      await sleep(50)
    }
  }

  /** Sends messages until the load is over. Several sends are always in flight, so that a kill interrupts some of them halfway. */
  async #send(client: RelayClient): Promise<void> {
    const name = client.agentName as string
    const lane = async () => {
      while (!this.#isOver && !this.#trial.isOver) {
        const send = this.#history.recordSend(name, `to-${this.#random.below(pairs)}`)
        const padding = 'x'.repeat(this.#random.next() < 0.05 ? 20_000 : this.#random.below(600))
        try {
          await client.send(send.to, messageBody(send.from, send.to, send.n, padding))
          send.outcome = 'acked'
        } catch (error) {
          this.#recordFailure(send, error)
        }
        await sleep(this.#random.below(6))
      }
    }
    await Promise.all([lane(), lane(), lane()])
  }

  #recordFailure(send: RecordedSend, error: unknown): void {
    if (error instanceof ConnectionError) return
    const { code, message } = error as RelayError
    const { expected, undecided } = this.#options
    if (expected !== undefined && code === expected) send.outcome = 'refused'
    else if (undecided === undefined || code !== undecided) this.errors.push(`${send.from}: send: ${message}`)
  }
}

/** Waits until a client sees all receivers: if they are on another machine, it sees them only a moment after they have registered. */
async function knowsAll(client: RelayClient): Promise<void> {
  const seen = async () => (await client.listAgents()).filter(({ name }) => name.startsWith('to-')).length
  const isThere = (async () => {
    while ((await seen()) < pairs) await sleep(20)
  })()
  if (!(await settlesWithin(waitLimitMs('prove'), isThere))) throw new Error('the receivers never came')
}

/** A receiver that either listens for messages or polls its inbox, never both at once: these are two streams, without an order between them. */
class Receiver {
  readonly #client: RelayClient
  readonly #history: MessageHistory
  readonly #name: string
  #wantsToAsk = false
  #asking: Promise<void> | undefined

  constructor(client: RelayClient, history: MessageHistory) {
    this.#client = client
    this.#history = history
    this.#name = client.agentName as string
    client.on('message', this.#see)
  }

  switchWay(): void {
    this.#wantsToAsk = !this.#wantsToAsk
    if (this.#wantsToAsk) this.#asking ??= this.#ask()
  }

  async stop(): Promise<void> {
    this.#wantsToAsk = false
    await this.#asking
    await this.#client.disconnect()
  }

  readonly #see = ({ content }: { content: string }): void => this.#history.recordShown(this.#name, content)

  async #ask(): Promise<void> {
    this.#client.off('message', this.#see)
    while (this.#wantsToAsk) {
      const page = await this.#client.getInbox().catch(() => [])
      for (const message of page) this.#see(message)
      await sleep(5)
    }
    this.#asking = undefined
    this.#client.on('message', this.#see)
  }
}
