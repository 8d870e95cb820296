// A latency probe: a pair of clients that keep calling the daemon during a trial, to show that they do not notice what else is done to the daemon.

import type { RelayClient } from '@agent-relay/sdk'
import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import { connectClient } from './clients.ts'
import { settlesWithin, sleep, type Trial } from './processes.ts'

export interface LatencyReport {
  calls: number
  failures: string[]
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** How long the probe waits for its last call at the end of the trial, so that a hang is reported. */
const lastCallMsMax = waitLimitMs('prove')

/** Sends messages to a second agent and takes them from its inbox, again and again with a short rest, and measures the calls. */
export class LatencyProbe {
  readonly #sender: RelayClient
  readonly #receiver: RelayClient
  readonly #failures: string[]
  #tookMs: number[] = []
  #sent = 0
  #received = 0
  #isOver = false
  readonly #done: Promise<void>
  readonly #trial: Trial

  private constructor(trial: Trial, sender: RelayClient, receiver: RelayClient, failures: string[]) {
    this.#trial = trial
    this.#sender = sender
    this.#receiver = receiver
    this.#failures = failures
    for (const client of [sender, receiver])
      client.on('disconnect', () => this.#isOver || failures.push('lost its connection'))
    this.#done = this.#go()
  }

  static async start(trial: Trial): Promise<LatencyProbe> {
    const faults: string[] = []
    const sender = await connectClient(trial, 'witness-a', { faults })
    return new LatencyProbe(trial, sender, await connectClient(trial, 'witness-b', { faults }), faults)
  }

  /** Returns the measured calls since the last report, and all failures so far. */
  report(): LatencyReport {
    const sorted = this.#tookMs.sort((a, b) => a - b)
    this.#tookMs = []
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
    return { calls: sorted.length, failures: [...this.#failures], p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
  }

  async end(lastCallMs = lastCallMsMax): Promise<LatencyReport> {
    this.#isOver = true
    if (!(await settlesWithin(lastCallMs, this.#done))) this.#failures.push('a call was never answered')
    if (this.#received !== this.#sent) this.#failures.push(`sent ${this.#sent}, received ${this.#received}`)
    await this.#sender.disconnect()
    await this.#receiver.disconnect()
    return this.report()
  }

  async #go(): Promise<void> {
    while (!this.#isOver && !this.#trial.isOver) {
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
