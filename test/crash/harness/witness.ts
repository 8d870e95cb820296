// Another session that keeps calling all the time: what is done to the daemon must not reach it.

import { RelayClient } from '@agent-relay/sdk'
import { sleep } from './processes.ts'

export interface Testimony {
  calls: number
  failures: string[]
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** Sends to itself's twin and takes what came, over and over, with a short rest. */
export class Witness {
  readonly #sender: RelayClient
  readonly #receiver: RelayClient
  readonly #failures: string[] = []
  #tookMs: number[] = []
  #sent = 0
  #received = 0
  #isOver = false
  #done: Promise<void> = Promise.resolve()

  private constructor(socketPath: string) {
    this.#sender = new RelayClient({ agentName: 'witness-a', socketPath, autoConnect: false })
    this.#receiver = new RelayClient({ agentName: 'witness-b', socketPath, autoConnect: false })
  }

  static async start(socketPath: string): Promise<Witness> {
    const witness = new Witness(socketPath)
    for (const client of [witness.#sender, witness.#receiver]) {
      client.on('error', (error) => witness.#failures.push(`error: ${error.message}`))
      client.on('disconnect', () => witness.#isOver || witness.#failures.push('lost its connection'))
      await client.connect()
    }
    witness.#done = witness.#go()
    return witness
  }

  /** What was seen since the last time it was asked. */
  testify(): Testimony {
    const sorted = this.#tookMs.sort((a, b) => a - b)
    this.#tookMs = []
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
    return { calls: sorted.length, failures: [...this.#failures], p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
  }

  async end(): Promise<Testimony> {
    this.#isOver = true
    await this.#done
    if (this.#received !== this.#sent) this.#failures.push(`sent ${this.#sent}, received ${this.#received}`)
    await this.#sender.disconnect()
    await this.#receiver.disconnect()
    return this.testify()
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      try {
        const from = performance.now()
        await this.#sender.send('witness-b', `word ${this.#sent + 1}`)
        this.#sent++
        const page = await this.#receiver.getInbox({ from: 'witness-a' })
        this.#tookMs.push(performance.now() - from)
        for (const { body } of page) this.#heard(body)
      } catch (error) {
        this.#failures.push((error as Error).message)
      }
      await sleep(2)
    }
  }

  #heard(body: string): void {
    this.#received++
    if (body !== `word ${this.#received}`) this.#failures.push(`heard "${body}" as number ${this.#received}`)
  }
}
