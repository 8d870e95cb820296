// A clock that is passed as an argument, so that a test can move it by hand.

import { timerMsMax } from '@agent-relay/sdk/protocol'

export interface Clock {
  /**
   * The machine's wall clock, in ms since 1970. It may jump in either direction: use it for timestamps and for deadlines that outlive the process, never for
   * waiting.
   */
  now(): number
  /** A monotonic clock in ms, counted from an arbitrary start: use it for waiting. */
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

/**
 * Wraps a clock so that an error in scheduled work is reported instead of ending the process: the damaged database of one workspace must not stop the others.
 */
export function reportingClock(clock: Clock, onTrouble: (error: Error) => void): Clock {
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

/** Maximum step by which a clock is assumed to be set back: an hour, which a wrong time zone causes. */
const stepBackMsMax = 3_600_000

/**
 * Whether a stored deadline is still to come. A deadline much further ahead than `lengthMs` was stored while the clock ran ahead, and would last for years, so
 * it counts as over.
 */
export function isDeadlineAhead(until: number, now: number, lengthMs: number): boolean {
  return until > now && until - now <= lengthMs + stepBackMsMax
}

/** Whether `ms` have passed since a timestamp. A timestamp in the future was taken before the clock was set back, so it counts as long ago. */
export function hasPassed(ms: number, since: number, now: number): boolean {
  return since > now || now - since >= ms
}
