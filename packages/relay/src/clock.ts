// The time, as an argument: a test may pass a clock that it moves by hand.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  after(ms: number, work: () => void): Alarm
}

export interface Alarm {
  cancel(): void
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, work) {
    const timer = setTimeout(work, ms)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}
