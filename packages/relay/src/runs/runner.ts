// Carries out the runs of one workspace: starts the work of a run, and ends it, when the broker says so. The broker decides everything about a run's state.

import { setMaxListeners } from 'node:events'
import type { Env } from '@agent-relay/sdk/internal/discover'
import type { RunLedger } from '../broker/runs/run-runtime.ts'
import type { RunRow } from '../core/view.ts'
import type { Clock } from '../machine/clock.ts'
import { resultWithin } from '../machine/within.ts'
import { loopsCloseMs, type RunLimits, runLimits } from './limits.ts'
import type { ProjectLoopSettings } from './loop-settings.ts'
import { Loops, runLoop } from './loops.ts'
import type { OpenRunSession } from './run-agent.ts'
import { runByWorker } from './worker-run.ts'

export type { OpenRunSession }

export interface RunnerOptions {
  ledger: RunLedger
  openSession: OpenRunSession
  clock: Clock
  env: Env
  dataDir: string
  settings: ProjectLoopSettings
  limits?: Partial<RunLimits>
}

export class Runner {
  readonly #options: RunnerOptions
  readonly #limits: RunLimits
  /** Active runs by id; `over` is aborted when the run has ended. */
  readonly #active = new Map<string, { over: AbortController; done?: Promise<void> }>()
  readonly #loops = new Loops()
  readonly #stop: () => void
  #isClosing = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#limits = { ...runLimits, ...options.limits }
    this.#stop = options.ledger.listen({
      onStart: (run) => this.#begin(run),
      onEnd: (run) => this.#active.get(run)?.over.abort(),
    })
  }

  /** Gives up all runs because the daemon stops. The next daemon reports the end of each. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#stop()
    for (const { over } of this.#active.values()) over.abort()
    await this.#loops.close()
    const ended = Promise.all([...this.#active.values()].map(({ done }) => done))
    await resultWithin(ended, loopsCloseMs)
  }

  #begin(run: RunRow): void {
    const { id, harness } = run
    if (harness === 'external') return
    const over = new AbortController()
    setMaxListeners(0, over.signal)
    const active: { over: AbortController; done?: Promise<void> } = { over }
    this.#active.set(id, active)
    active.done = this.#follow(run, over.signal).finally(() => this.#active.delete(id))
  }

  /** Follows a run to its end, and reports the reason if the run was given up. */
  async #follow(run: RunRow, over: AbortSignal): Promise<void> {
    const { ledger, clock } = this.#options
    const { msMax } = this.#limits
    const tooLong = `It has run for ${msMax / 1000} s, which is its limit.`
    const late = clock.after(msMax, () => void ledger.end(run.id, tooLong))
    const failed = (error: Error) => `It failed: ${error.message}`
    const reason = await this.#carryOut(run, over).catch(failed)
    late.cancel()
    // A stopping daemon writes nothing more: the next daemon finds the run and records its end.
    if (this.#isClosing || !ledger.isRunning(run.id)) return
    await ledger.end(run.id, reason ?? 'It ended without a reason.')
  }

  /** Resolves when the run is no longer carried out, with the reason if nobody asked it to end. */
  async #carryOut(run: RunRow, over: AbortSignal): Promise<string | undefined> {
    const { ledger, openSession, env, dataDir, settings } = this.#options
    if (run.harness !== 'loop') return runByWorker(ledger, run, over)
    const config = settings.configFor(run.cwd)
    return runLoop({
      ledger,
      run,
      env,
      config,
      dataDir,
      openSession,
      loops: this.#loops,
      limits: this.#limits,
      over,
    })
  }
}
