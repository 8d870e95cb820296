// Tries the promises one after the other, each on daemons of its own in a private directory, and reports which hold. The trials themselves are in promises.ts.

import { waitLimitMs } from '@agent-relay/sdk/internal/waits'
import type { TrialOptions } from './harness/processes.ts'
import {
  type PromiseName,
  type ProveSize,
  promiseNames,
  promises,
  proveSizeDefault,
  type RelayPromise,
} from './promises.ts'

export interface Proof {
  name: PromiseName
  /** Whether the promise holds; null if it could not be tried on this machine. */
  holds: boolean | null
  figure: string
  /** Why the promise was not tried, or the faults that were found. */
  why?: string
}

export interface ProveOptions extends TrialOptions {
  only?: readonly PromiseName[]
  size?: ProveSize
  /** A trial that reports no progress for this long counts as broken. */
  stuckMs?: number
  /** Called when promise number `n` of all `of` begins. */
  onBegin?(name: PromiseName, n: number, of: number): void
}

/**
 * Time without progress after which a trial counts as broken. It is longer than any single wait inside a trial, so that usually the trial itself
 * reports what is missing.
 */
const stuckMsMax = 2 * waitLimitMs('prove')
const faultsShown = 3

/** Tries the promises. If it is aborted, rejects with the signal's reason once every daemon has ended and every file is removed. */
export async function prove(options: ProveOptions): Promise<Proof[]> {
  const names = promiseNames.filter((name) => options.only?.includes(name) ?? true)
  const proofs: Proof[] = []
  for (const [i, name] of names.entries()) {
    options.onBegin?.(name, i + 1, names.length)
    proofs.push(await proofOf(name, options))
  }
  return proofs
}

async function proofOf(name: PromiseName, options: ProveOptions): Promise<Proof> {
  const { size = proveSizeDefault, stuckMs = stuckMsMax, relay, signal, onProgress } = options
  const promised: RelayPromise = promises[name]
  const watch = new StuckWatch(stuckMs)
  const trialOptions: TrialOptions = {
    relay,
    signal: signal ? AbortSignal.any([signal, watch.signal]) : watch.signal,
    onProgress: (text) => {
      watch.note(text)
      onProgress?.(text)
    },
  }
  try {
    const finding = await promised.runTrial(size, trialOptions)
    if ('skipped' in finding) return { name, holds: null, figure: '', why: finding.skipped }
    const { figure, faults } = finding
    if (faults.length === 0) return { name, holds: true, figure }
    const more = faults.length > faultsShown ? `; and ${faults.length - faultsShown} more` : ''
    return { name, holds: false, figure, why: `${faults.slice(0, faultsShown).join('; ')}${more}` }
  } catch (error) {
    if (signal?.aborted) throw error
    return { name, holds: false, figure: '', why: (error as Error).message }
  } finally {
    watch.end()
  }
}

/** Aborts a trial that has reported no progress for too long. */
class StuckWatch {
  readonly #stuck = new AbortController()
  readonly #timer: NodeJS.Timeout
  #last = 'the beginning'

  constructor(stuckMs: number) {
    const give = () => this.#stuck.abort(new Error(`nothing happened for ${stuckMs / 1000} s after: ${this.#last}`))
    this.#timer = setTimeout(give, stuckMs)
  }

  get signal(): AbortSignal {
    return this.#stuck.signal
  }

  note(text: string): void {
    this.#last = text
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
