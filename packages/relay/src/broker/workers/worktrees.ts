// The broker's operations on worktrees of workers: shows the changes in them and the diff of one, and removes those of exited workers. The code that knows git
// is in work/.

import type { OutputOf, ParsedInputOf, Worker, Worktree } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../../core/refusal-error.ts'
import { isInCharge, type Reader, sees, seesAllRuns } from '../../core/sight.ts'
import type { WorkerRow } from '../../core/view.ts'
import { backupMachine } from '../../core/world.ts'
import { isInside } from '../../machine/working-directory.ts'
import type { CallContext, WorkspaceParts } from '../call.ts'
import { submitCall } from '../commands.ts'
import type { WorktreeKeeper } from './worker-runtime.ts'

type WithWorktree = WorkerRow & { worktree: Worktree }

export interface WorktreeParts extends Pick<WorkspaceParts, 'store' | 'engine' | 'sessions'> {
  /** Describes the worker in the form that every reader is shown. */
  describe(row: WorkerRow): Worker
}

export class WorkerWorktrees {
  readonly #parts: WorktreeParts
  readonly #keeper: WorktreeKeeper | undefined

  constructor(parts: WorktreeParts, keeper: WorktreeKeeper | undefined) {
    this.#parts = parts
    this.#keeper = keeper
  }

  /** Returns the changes in the worktrees of running workers, and in those that are left of exited workers. */
  async changes(reader: Reader, { name }: ParsedInputOf<'worker.changes'>): Promise<OutputOf<'worker.changes'>> {
    const rows = name === undefined ? this.#visibleRows(reader) : [this.#rowNamed(reader, name)]
    const workers = await Promise.all(
      rows.map(async (row) => {
        const worker = this.#parts.describe(row)
        try {
          const changes = await this.#keeperOf(row).changes(row.worktree)
          return changes ? { ...worker, changes } : { ...worker, error: 'its worktree is not there any more' }
        } catch (error) {
          return { ...worker, error: (error as Error).message }
        }
      }),
    )
    return { workers }
  }

  async diff(reader: Reader, { name }: ParsedInputOf<'worker.diff'>): Promise<OutputOf<'worker.diff'>> {
    const row = this.#rowNamed(reader, name)
    return { worker: this.#parts.describe(row), ...(await this.#keeperOf(row).diff(row.worktree)) }
  }

  /** Removes worktrees of exited workers that hold no work; with `discard` the named worktree, whatever it holds. */
  async sweep(
    asking: CallContext,
    { name, discard }: ParsedInputOf<'worker.sweep'>,
  ): Promise<OutputOf<'worker.sweep'>> {
    const { store, describe } = this.#parts
    const { session: reader } = asking
    if (discard && !seesAllRuns(store.view, reader)) throw new RefusalError('worktree.person')
    const rows = name === undefined ? this.#visibleRows(reader) : [this.#rowNamed(reader, name)]
    const answer: OutputOf<'worker.sweep'> = { removed: [], kept: [] }
    for (const row of rows.filter((each) => isInCharge(store.view, reader, each))) {
      const worker = describe(row)
      const why = this.#inUse(row) ?? (await this.#end(row, discard === true))
      if (why === undefined) answer.removed.push(worker)
      else if (name !== undefined || row.status === 'exited') answer.kept.push({ ...worker, why })
    }
    const input = { ids: answer.removed.map(({ id }) => id), answer }
    return (await submitCall(this.#parts, asking, 'worker.sweep', input)).outcome as typeof answer
  }

  /** Removes one worktree. If the worktree stays, returns the reason. */
  async #end(row: WithWorktree, discard: boolean): Promise<string | undefined> {
    const { id: worker, worktree, pid, cwd } = row
    const keeper = this.#keeperOf(row)
    const by = { worker, hasRun: pid !== undefined, cwd }
    return (discard ? await keeper.discard(worktree, by) : await keeper.removeIfClean(worktree, by)).kept
  }

  /** Returns the reason why a worktree cannot be removed now: somebody works in it, or it is on another machine. */
  #inUse({ worktree, machine }: WithWorktree): string | undefined {
    if (machine !== this.#parts.sessions.machine) return 'it is on another machine'
    const inside = this.#parts.store.view.workers.running().filter(({ cwd }) => isInside(cwd, worktree.path))
    if (inside.length === 0) return undefined
    return `${inside.map((each) => each.name).join(', ')} works in it. First: agent-relay release ${inside[0]?.name}`
  }

  #visibleRows(reader: Reader): WithWorktree[] {
    const { view } = this.#parts.store
    return view.workers.withWorktree().filter((row): row is WithWorktree => sees(view, reader, 'worker', row))
  }

  /** Returns the newest worktree of a worker of this name, or the one on the branch of this name. */
  #rowNamed(reader: Reader, name: string): WithWorktree {
    const seen = this.#visibleRows(reader)
    const found = seen.findLast((row) => row.name === name || row.worktree.branch === name)
    if (found) return found
    const { view } = this.#parts.store
    const row = view.workers.byName(name)
    const isRestored = row?.machine === backupMachine && sees(view, reader, 'worker', row)
    throw new RefusalError('worktree.unknown', { name, isRestored })
  }

  /** Returns the code that manages a worktree on this machine. A path on another machine means nothing here: the same path on this disk is somebody else's. */
  #keeperOf({ name, machine }: WithWorktree): WorktreeKeeper {
    if (!this.#keeper) throw new RefusalError('worker.unavailable')
    if (machine !== this.#parts.sessions.machine) throw new RefusalError('worktree.elsewhere', { name, machine })
    return this.#keeper
  }
}
