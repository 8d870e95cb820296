// Prunes each workspace whose policy says how long what is over is kept: once a day, while the workspace is in use, always into its archive.

import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { WorkspacePruner } from './pruning.ts'

const dayMs = 86_400_000
/** How often the daemon looks for workspaces whose day is over. */
const usualCheckMs = 10 * 60_000

interface DailyPruningOptions {
  workspaces: Pick<OpenWorkspaces, 'names' | 'findOpen' | 'lastGlance'>
  pruner: WorkspacePruner
  clock: Clock
  checkMs?: number
  onTrouble(error: Error): void
}

export class DailyPruning {
  readonly #options: DailyPruningOptions
  readonly #ending = new AbortController()
  readonly #timer: NodeJS.Timeout
  /** When each workspace was last pruned or tried. A prune that found something is in the workspace's own records too, which outlive the daemon. */
  readonly #lastAt = new Map<string, number>()
  #isChecking = false

  constructor(options: DailyPruningOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#check(), options.checkMs ?? usualCheckMs)
    this.#timer.unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#ending.abort()
  }

  /** Prunes one workspace after the other: together they would take more from everybody else. */
  async #check(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    for (const name of this.#options.workspaces.names()) {
      if (this.#ending.signal.aborted) return
      await this.#pruneIfDue(name).catch((error) => this.#report(error))
    }
    this.#isChecking = false
  }

  async #pruneIfDue(name: string): Promise<void> {
    const { workspaces, pruner, clock } = this.#options
    const workspace = workspaces.findOpen(name)?.workspace
    const keepMs = workspace ? workspace.store.view.policy().keepMs : workspaces.lastGlance(name)?.keepMs
    if (keepMs === undefined || workspace?.isShared) return
    const now = clock.now()
    const recordedAt = workspace?.store.pruning.pruneRecords().at(-1)?.at ?? 0
    const lastAt = Math.max(recordedAt, this.#lastAt.get(name) ?? 0)
    // A time in the future was written by a clock that was ahead.
    if (lastAt <= now && now - lastAt < dayMs) return
    this.#lastAt.set(name, now)
    await pruner.prune(name, { olderMs: keepMs }, this.#ending.signal)
  }

  #report(error: unknown): void {
    // A person prunes this workspace right now.
    if (error instanceof RefusalError && error.refusal.code === 'workspace.pruning') return
    if (!this.#ending.signal.aborted) this.#options.onTrouble(error as Error)
  }
}
