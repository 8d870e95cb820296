// A clock that a play moves by hand.

import type { Alarm, Clock } from '../../packages/relay/src/machine/clock.ts'

export class PlayClock implements Clock {
  #steady = 0
  /** What the wall clock says when the steady one says nothing. */
  #zero = Date.UTC(2026, 0, 1, 12)
  readonly #alarms = new Set<{ at: number; work: () => void }>()

  now = (): number => this.#zero + this.#steady
  steady = (): number => this.#steady

  after(ms: number, work: () => void): Alarm {
    const alarm = { at: this.#steady + ms, work }
    this.#alarms.add(alarm)
    // What is due at once needs no passing of time.
    if (ms <= 0) setImmediate(() => this.#ring(alarm))
    return { cancel: () => this.#alarms.delete(alarm) }
  }

  /** Rings what falls due on the way, in its order, each at its own time. */
  async passes(ms: number): Promise<void> {
    const end = this.#steady + ms
    for (;;) {
      const [next] = [...this.#alarms].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (!next) break
      this.#steady = Math.max(this.#steady, next.at)
      this.#ring(next)
      await new Promise(setImmediate)
    }
    this.#steady = end
    await new Promise(setImmediate)
  }

  /** The wall clock is set: no time passes by it. */
  jumps(ms: number): void {
    this.#zero += ms
  }

  #ring(alarm: { at: number; work: () => void }): void {
    if (this.#alarms.delete(alarm)) alarm.work()
  }
}
