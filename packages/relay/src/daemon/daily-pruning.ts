// Prunes each workspace whose policy has `keepMs` once a day, even if it is closed for lack of use: finished events older than that go into its archive.

import { RefusalError } from '../core/refusal-error.ts'
import type { Clock } from '../machine/clock.ts'
import type { OpenWorkspaces } from './open-workspaces.ts'
import type { WorkspacePruner } from './pruning.ts'

const dayMs = 86_400_000
/** Interval in ms between two checks which workspaces were not pruned for a day. */
const usualCheckMs = 10 * 60_000

interface DailyPruningOptions {
  workspaces: Pick<OpenWorkspaces, 'names' | 'findOpen' | 'restSummary'>
  pruner: WorkspacePruner
  clock: Clock
  checkMs?: number
  onTrouble(error: Error): void
}

export class DailyPruning {
  readonly #options: DailyPruningOptions
  readonly #ending = new AbortController()
  readonly #timer: NodeJS.Timeout
  /**
   * Time of the last pruning or attempt, by workspace. A pruning that deleted something is also recorded in the workspace, which survives a restart of the
   * daemon.
   */
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

  /** Prunes one workspace after the other, so that other work is not slowed down too much. */
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
    const keepMs = workspace ? workspace.store.view.policy().keepMs : workspaces.restSummary(name)?.keepMs
    if (keepMs === undefined || workspace?.isShared) return
    const now = clock.now()
    const recordedAt = workspace?.store.pruning.pruneRecords().at(-1)?.at ?? 0
    const lastAt = Math.max(recordedAt, this.#lastAt.get(name) ?? 0)
    // A time in the future comes from a clock that was wrong, and is ignored.
    if (lastAt <= now && now - lastAt < dayMs) return
    this.#lastAt.set(name, now)
    await pruner.prune(name, { olderMs: keepMs }, this.#ending.signal)
  }

  #report(error: unknown): void {
    // A pruning of this workspace is under way already, so its daily one is left out.
    if (error instanceof RefusalError && error.refusal.code === 'workspace.pruning') return
    if (!this.#ending.signal.aborted) this.#options.onTrouble(error as Error)
  }
}
