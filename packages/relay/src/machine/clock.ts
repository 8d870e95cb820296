// The time, as an argument: a test may pass a clock that it moves by hand.

import { timerMsMax } from '@agent-relay/sdk/protocol'

export interface Clock {
  /**
   * Milliseconds since 1970, as the machine's clock says. It may jump in either direction: for stamps, and for deadlines that outlive
   * the process, never for waiting.
   */
  now(): number
  /** Milliseconds that only ever pass, counted from anywhere: for waiting. */
  steady(): number
  after(ms: number, work: () => void): Alarm
}

export interface Alarm {
  cancel(): void
}

export const systemClock: Clock = {
  now: Date.now,
  steady: () => performance.now(),
  after(ms, work) {
    let timer: NodeJS.Timeout
    const wait = (leftMs: number) => {
      const partMs = Math.min(leftMs, timerMsMax)
      timer = setTimeout(() => (leftMs > partMs ? wait(leftMs - partMs) : work()), partMs)
      timer.unref()
    }
    wait(ms)
    return { cancel: () => clearTimeout(timer) }
  },
}

/** The same clock. Work that fails at its time is reported and does not end the process: a damaged database concerns its own workspace alone. */
export function guarded(clock: Clock, onTrouble: (error: Error) => void): Clock {
  const after: Clock['after'] = (ms, work) =>
    clock.after(ms, () => {
      try {
        work()
      } catch (error) {
        onTrouble(error as Error)
      }
    })
  return { now: () => clock.now(), steady: () => clock.steady(), after }
}

/** A clock that is set back is rarely set back further: an hour is what a mistaken time zone makes. */
const stepBackMsMax = 3_600_000

/**
 * Whether a stored deadline is still to come. One that lies further ahead than it can have been set was set while the clock ran ahead:
 * it would last for years, so it is over.
 */
export function isAhead(until: number, now: number, lengthMs: number): boolean {
  return until > now && until - now <= lengthMs + stepBackMsMax
}

/** A time in the future was stamped before the clock was set back, so it counts as long ago. */
export function hasPassed(ms: number, since: number, now: number): boolean {
  return since > now || now - since >= ms
}
