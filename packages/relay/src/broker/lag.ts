// How late the event loop runs: sampled ten times a second, kept for a minute. The relay's own health, shown in `status`.

const sampleMs = 100
const samplesMax = 600

export class LagMeter {
  readonly #samples: number[] = []
  readonly #timer: NodeJS.Timeout
  #expected = performance.now() + sampleMs

  constructor() {
    this.#timer = setInterval(() => this.#sample(), sampleMs)
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
    this.#expected = now + sampleMs
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}
