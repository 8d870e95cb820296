// A clock that a play moves by hand.

import type { Alarm, Clock } from '../../packages/relay/src/clock.ts'

export class PlayClock implements Clock {
  #now = Date.UTC(2026, 0, 1, 12)
  readonly #alarms = new Set<{ at: number; work: () => void }>()

  now = (): number => this.#now

  after(ms: number, work: () => void): Alarm {
    const alarm = { at: this.#now + ms, work }
    this.#alarms.add(alarm)
    // What is due at once needs no passing of time.
    if (ms <= 0) setImmediate(() => this.#ring(alarm))
    return { cancel: () => this.#alarms.delete(alarm) }
  }

  /** Rings what falls due on the way, in its order, each at its own time. */
  async passes(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#now = Math.max(this.#now, next.at)
      this.#ring(next)
      await new Promise(setImmediate)
    }
    this.#now = end
    await new Promise(setImmediate)
  }

  goesBack(ms: number): void {
    this.#now -= ms
  }

  #ring(alarm: { at: number; work: () => void }): void {
    if (this.#alarms.delete(alarm)) alarm.work()
  }
}
