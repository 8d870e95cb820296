// Plans, makes and ends the git worktrees of workers. Only worktrees that the daemon made are removed, and those that hold work only by `discard`;
// the repository's other checkouts, their indexes and the stash are not touched.

import { basename, dirname, join, relative, resolve } from 'node:path'
import { isPlainDirectory, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import type { Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type {
  EndedWorker,
  PlannedWorktree,
  WorktreeKeeper,
  WorktreeOptions,
  WorktreeRemovalResult,
} from '../broker/workers/worker-runtime.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { KeyedQueue } from '../machine/keyed-queue.ts'
import { projectConfig } from '../machine/trust.ts'
import { isInside, realDirectory } from '../machine/working-directory.ts'
import { makeBranch } from './branches.ts'
import { uncommittedFiles, worktreeChanges, worktreeDiff } from './changes.ts'
import { type Env, Git, GitError } from './git.ts'
import { createFile, makeFolder } from './own-files.ts'
import {
  type CheckoutState,
  checkoutOf,
  listWorktrees,
  pathExists,
  pathInCheckout,
  refuseGitFilters,
  workerBranch,
} from './repository.ts'
import { findWorktreeRecord, lockReason, writeWorktreeMark } from './worktree-mark.ts'
import { discardWorktree, filesText, refuseMisplacedWorktree, removeIfClean } from './worktree-removal.ts'
import { addSubmodules, copyFiles, runSetup, type WorktreeSettings } from './worktree-setup.ts'

/** Maximum number of worktrees that workers of one name may leave behind. */
const sameNameMax = 99
/** Timeout of `git worktree add`, long enough to check out a large repository. */
const addMs = 10 * 60_000

/** The worktrees of all workspaces: a daemon has one such object, since two workspaces may have the same repository. */
export class Worktrees implements WorktreeKeeper {
  readonly #git: Git
  readonly #dataDir: string
  /** Ids of workers for which no branch could be made: a branch or worktree of that name belongs to somebody else. */
  readonly #branchless = new Set<string>()
  /** The last queued change to the worktrees of each repository, by the repository's path. */
  readonly #changes = new KeyedQueue()

  constructor({ env, dataDir }: { env: Env; dataDir: string }) {
    this.#git = new Git(env)
    this.#dataDir = dataDir
  }

  async plan({ name, directory }: { name: string; directory: string }): Promise<PlannedWorktree> {
    const git = this.#git
    const checkout = await checkoutOf(git, directory)
    const way = await pathInCheckout(git, checkout, directory)
    await refuseGitFilters(git, checkout)
    const { settings, note } = this.#settings(join(checkout.root, way))
    const worktree = await this.#chooseFree(checkout, name, worktreesFolderOf(checkout.root, settings))
    const dirty = await this.#countUncommitted(checkout)
    const notes = [
      ...(note === undefined ? [] : [note]),
      ...(dirty > 0
        ? [
            `Its worktree begins at the last commit: in ${checkout.top} ${filesText(dirty)} not committed, and not in it.`,
          ]
        : []),
    ]
    return { worktree, cwd: join(worktree.path, way), ...(notes.length > 0 ? { note: notes.join(' ') } : {}) }
  }

  /** Counts the uncommitted files, for a note to the caller only: if git fails or takes too long, the count is 0. */
  async #countUncommitted({ top }: CheckoutState): Promise<number> {
    try {
      return (await uncommittedFiles(this.#git, top, {})).length
    } catch (error) {
      if (error instanceof GitError) return 0
      throw error
    }
  }

  make(worktree: Worktree, options: WorktreeOptions): Promise<void> {
    return this.#afterOthers(worktree, () => this.#add(worktree, options)).then(() => this.#setUp(worktree, options))
  }

  removeIfClean(worktree: Worktree, by: EndedWorker): Promise<WorktreeRemovalResult> {
    return this.#end(worktree, by, async (git, left) =>
      this.#branchless.delete(by.worker) ? {} : removeIfClean(git, left),
    )
  }

  discard(worktree: Worktree, by: EndedWorker): Promise<WorktreeRemovalResult> {
    return this.#end(worktree, by, discardWorktree)
  }

  /** Ends a worktree. After any failure the worktree stays, since it may hold work, or may not be ours. */
  #end(worktree: Worktree, by: EndedWorker, end: typeof removeIfClean): Promise<WorktreeRemovalResult> {
    return this.#afterOthers(worktree, async () => {
      try {
        return await end(this.#git, { worktree, ...by, worktreesFolder: this.#folderOf(worktree, by.cwd) })
      } catch (error) {
        return { kept: (error as Error).message }
      }
    })
  }

  async changes(worktree: Worktree): Promise<WorktreeChanges | undefined> {
    if (!pathExists(join(worktree.path, '.git'))) return undefined
    return worktreeChanges(this.#git, worktree, (await findWorktreeRecord(this.#git, worktree))?.mark?.copied ?? {})
  }

  diff(worktree: Worktree): Promise<{ text: string; isCut: boolean }> {
    if (!pathExists(join(worktree.path, '.git'))) throw new RefusalError('worktree.unknown', { name: worktree.branch })
    return worktreeDiff(this.#git, worktree)
  }

  async #add(worktree: Worktree, { worker, cwd, marker }: WorktreeOptions): Promise<void> {
    this.#branchless.add(worker)
    const { repository, path, branch } = worktree
    const home = this.#folderOf(worktree, cwd)
    await refuseMisplacedWorktree(this.#git, { worktree, worktreesFolder: home })
    await makeFolder(home)
    // A `.gitignore` in the folder of worktrees makes git ignore that folder, without a change to any file of the repository.
    if (!pathExists(join(home, '.gitignore'))) await createFile(join(home, '.gitignore'), '*\n', 0o644)
    await makeBranch(this.#git, worktree)
    this.#branchless.delete(worker)
    const add = ['worktree', 'add', '--quiet', '--lock', '--reason', lockReason(worker), '--', path, branch]
    await this.#git.run(repository, add, { env: marker, timeoutMs: addMs })
    await writeWorktreeMark(this.#git, worktree, { worker, copied: {}, isSettingUp: true })
    await this.#git.run(repository, ['worktree', 'unlock', '--', path])
  }

  async #setUp(worktree: Worktree, { worker, cwd, environment, signal, onSetup }: WorktreeOptions): Promise<void> {
    const { settings = {} } = this.#settings(join(worktree.repository, relative(worktree.path, cwd)))
    await addSubmodules(this.#git, worktree, settings.submodules)
    const copied = await copyFiles(worktree, settings.copy)
    const [file, ...args] = settings.setup ?? []
    if (file !== undefined) {
      await onSetup(`set-up: ${[file, ...args].join(' ')}`)
      await runSetup([file, ...args], { cwd, env: environment, signal })
    }
    await writeWorktreeMark(this.#git, worktree, { worker, copied })
  }

  /** Chooses the worktree's name: the first of Fixer, Fixer-2, … for which neither a branch nor a directory exists. */
  async #chooseFree({ root, head, branch: onto }: CheckoutState, name: string, home: string): Promise<Worktree> {
    mustHaveNoLink(root, home)
    const known = await listWorktrees(this.#git, root)
    for (let n = 1; n <= sameNameMax; n++) {
      const label = branchPart(name) + (n === 1 ? '' : `-${n}`)
      const [branch, path] = [workerBranch(label), join(home, label)]
      const isTaken = pathExists(path) || known.some((each) => each.path === path)
      if (isTaken || (await this.#git.firstLine(root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])))
        continue
      return { repository: root, path, branch, base: head, ...(onto === undefined ? {} : { onto }) }
    }
    throw new RefusalError('worktree.none', { directory: root, why: `${home} holds ${sameNameMax} of ${name} already` })
  }

  /**
   * Runs one change at a time on the worktrees of a repository: making and ending a worktree change the same lists of git, which must not be found locked or
   * half made.
   */
  #afterOthers<T>({ repository }: Worktree, work: () => Promise<T>): Promise<T> {
    return this.#changes.run(repository, work)
  }

  /** Returns the folder in which this worktree was made: the usual folder, unless the trusted configuration of the worker's directory names another. */
  #folderOf({ repository, path }: Worktree, cwd = path): string {
    const usual = worktreesFolderOf(repository, undefined)
    if (dirname(path) === usual || !isInside(cwd, path)) return usual
    return worktreesFolderOf(repository, this.#settings(join(repository, relative(path, cwd))).settings)
  }

  #settings(directory: string): { settings?: WorktreeSettings; note?: string } {
    const config = projectConfig(directory, this.#dataDir)
    const settings = config?.settings.worktree
    if (settings === undefined || config?.isTrusted) return { settings }
    return { note: `${config?.path} sets up worktrees, but is not trusted: agent-relay trust` }
  }
}

function worktreesFolderOf(root: string, settings: WorktreeSettings | undefined): string {
  const home = resolve(root, settings?.directory ?? join('.relay', 'worktrees'))
  return isInside(home, root) ? home : realPathOf(home)
}

/**
 * Returns a path without links. A folder for worktrees outside the repository is the owner's choice, and may be reached by links: git knows it without them.
 */
function realPathOf(path: string): string {
  return realDirectory(path) ?? join(realPathOf(dirname(path)), basename(path))
}

/** Refuses a folder for worktrees inside the repository that is reached by a link, since the link would lead somewhere else. */
function mustHaveNoLink(root: string, home: string): void {
  if (!isInside(home, root)) return
  let way = root
  try {
    for (const step of relative(root, home).split('/')) {
      way = join(way, step)
      if (!isPlainDirectory(way)) return
    }
  } catch (error) {
    if (!(error instanceof UnsafeFileError)) throw error
    throw new RefusalError('worktree.none', { directory: root, why: `${error.path}: ${error.why}` })
  }
}

/** Turns an agent's name into a part of a branch's name: git takes no `..`, and no `.` or `.lock` at the end. */
function branchPart(name: string): string {
  return name.replace(/\.(?=\.|$)/g, '-').replace(/\.lock$/, '-lock')
}
