// Carries out the runs of one workspace: a client that follows what is started and ended, and acts. It decides nothing of a run itself.

import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Env } from '@agent-relay/sdk/discover'
import type { Workspace } from '../broker/workspace.ts'
import type { RunRow } from '../core/view.ts'
import { type ProjectConfigFile, projectConfig } from '../trust.ts'
import { type RunLimits, runLimits } from './limits.ts'
import { runLoop } from './loop-run.ts'
import { Loops } from './loops.ts'
import type { Dial } from './seat.ts'
import { runByWorker } from './worker-run.ts'

export interface RunnerOptions {
  workspace: Workspace
  dial: Dial
  env: Env
  dataDir: string
  /** The directory that the workspace is named after. */
  directory(): string | undefined
  limits?: Partial<RunLimits>
}

/** What is given up when the daemon stops has this long to end. */
const closeMs = 1_000

export class Runner {
  readonly #options: RunnerOptions
  readonly #limits: RunLimits
  /** By run; `over` is aborted when it has ended. */
  readonly #active = new Map<string, { over: AbortController; done?: Promise<void> }>()
  readonly #loops = new Loops()
  readonly #stop: () => void
  #isClosing = false

  constructor(options: RunnerOptions) {
    this.#options = options
    this.#limits = { ...runLimits, ...options.limits }
    this.#stop = options.workspace.hub.listen((entries) => {
      for (const { facts } of entries)
        for (const fact of facts) {
          if (fact.type === 'run.started') this.#begin(fact.id)
          if (fact.type === 'run.completed' || fact.type === 'run.stopped') this.#active.get(fact.id)?.over.abort()
        }
    })
  }

  /** The daemon stops: what is under way is given up. The next one says so of each run. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#stop()
    for (const { over } of this.#active.values()) over.abort()
    await this.#loops.close()
    const ended = Promise.all([...this.#active.values()].map(({ done }) => done))
    await Promise.race([ended, sleep(closeMs, undefined, { ref: false })])
  }

  #begin(id: string): void {
    const { runs } = this.#options.workspace
    const run = runs.row(id)
    if (!run || run.harness === 'external') return
    const over = new AbortController()
    setMaxListeners(0, over.signal)
    const active: { over: AbortController; done?: Promise<void> } = { over }
    this.#active.set(id, active)
    active.done = this.#see(run, over.signal).finally(() => this.#active.delete(id))
  }

  /** To its end; whatever gives up says why. */
  async #see(run: RunRow, over: AbortSignal): Promise<void> {
    const { runs } = this.#options.workspace
    const { msMax } = this.#limits
    const late = setTimeout(() => void runs.end(run.id, `It has run for ${msMax / 1000} s, which is its limit.`), msMax)
    late.unref()
    const failed = (error: Error) => `It failed: ${error.message}`
    const reason = await this.#carryOut(run, over).catch(failed)
    clearTimeout(late)
    // A daemon that stops writes nothing more: the next one finds the run and says that it ended.
    if (this.#isClosing || !runs.isRunning(run.id)) return
    await runs.end(run.id, reason ?? 'It ended without a word.')
  }

  /** Resolves when nothing carries it out any more, with the reason where that was not asked for. */
  async #carryOut(run: RunRow, over: AbortSignal): Promise<string | undefined> {
    const { workspace } = this.#options
    if (run.harness !== 'loop') return runByWorker(workspace, run, over)
    const { dial, env, dataDir, directory } = this.#options
    const cwd = run.cwd ?? directory()
    const config: ProjectConfigFile | undefined = cwd === undefined ? undefined : projectConfig(cwd, dataDir)
    return runLoop({ workspace, run, env, config, dial, loops: this.#loops, limits: this.#limits, over })
  }
}
