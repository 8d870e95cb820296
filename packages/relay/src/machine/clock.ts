// A clock that is passed as an argument, so that a test can move it by hand.

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

/** Wraps a clock so that failing work is reported and does not end the process: a damaged database concerns its own workspace alone. */
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

/** A clock is rarely set back further than this: an hour is the effect of a wrong time zone. */
const stepBackMsMax = 3_600_000

/**
 * Whether a stored deadline is still to come. A deadline further ahead than it can have been set was set while the clock ran ahead: it would last for
 * years, so it counts as over.
 */
export function isAhead(until: number, now: number, lengthMs: number): boolean {
  return until > now && until - now <= lengthMs + stepBackMsMax
}

/** Whether `ms` have passed since a stamped time. A time in the future was stamped before the clock was set back, so it counts as long ago. */
export function hasPassed(ms: number, since: number, now: number): boolean {
  return since > now || now - since >= ms
}
