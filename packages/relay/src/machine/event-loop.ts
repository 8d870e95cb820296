// Two meters of the event loop: its lag, and its load.

import { type EventLoopUtilization, performance } from 'node:perf_hooks'

/** Interval between two measurements of the event loop's lag; below it, the number of measurements that are kept, which is a minute's. */
const lagSampleMs = 100
const samplesMax = 600

/** The lag of the event loop, which `status` shows as the relay's own health. */
export class LagMeter {
  readonly #samples: number[] = []
  readonly #timer: NodeJS.Timeout
  #expected = performance.now() + lagSampleMs

  constructor() {
    this.#timer = setInterval(() => this.#sample(), lagSampleMs)
    this.#timer.unref()
  }

  read(): { p50: number; p99: number; max: number } {
    const sorted = [...this.#samples].sort((a, b) => a - b)
    const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
    return { p50: at(0.5), p99: at(0.99), max: at(1) }
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    const now = performance.now()
    this.#samples.push(Math.max(0, now - this.#expected))
    if (this.#samples.length > samplesMax) this.#samples.shift()
    this.#expected = now + lagSampleMs
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

const loadSampleMs = 20
/** Share of time in which the event loop is busy, above which work that can wait is put off. */
const highShare = 0.5

/** Tells whether the process has time to spare, by the share of recent time in which its event loop was busy. */
export class LoadMeter {
  #since: EventLoopUtilization = performance.eventLoopUtilization()
  #sampledAt = performance.now()
  #share = 0

  isHigh(now: number): boolean {
    if (now - this.#sampledAt > loadSampleMs) {
      const total = performance.eventLoopUtilization()
      this.#share = performance.eventLoopUtilization(total, this.#since).utilization
      this.#since = total
      this.#sampledAt = now
    }
    return this.#share > highShare
  }
}
