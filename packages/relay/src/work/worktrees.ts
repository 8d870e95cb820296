// The worktrees of workers: where one goes, how it is made, and how it ends. Only what is ours and holds no work is ever removed; the
// repository's other checkouts, their indexes and the stash are not touched.

import { mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { isPlainDirectory, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import type { Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { EndedWorktree, MakeWorktree, PlannedWorktree, WorktreeKeeper } from '../broker/workers/worker-runtime.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { projectConfig } from '../machine/trust.ts'
import { isInside } from '../machine/working-directory.ts'
import { changesOf, diffOf, isClean, lacksOnly, uncommittedOf, unmerged } from './changes.ts'
import { addSubmodules, copyFiles, dropCopies, setUp, type WorktreeSettings } from './furnishing.ts'
import { type Env, Git, GitError } from './git.ts'
import { dropDeadLock, dropHalfMade, isOfAnother, markOf, restoreLink, writeMark } from './handover.ts'
import {
  allSubmodulesIn,
  type CheckoutState,
  checkoutOf,
  exists,
  mustBeIn,
  mustHaveNoFilters,
  refOf,
  worktreesOf,
} from './repository.ts'

/** How many worktrees one name may leave behind. */
const sameNameMax = 99
/** Checking out a large repository takes its time. */
const addMs = 10 * 60_000

/** One in a daemon: two workspaces may have the same repository. */
export class Worktrees implements WorktreeKeeper {
  readonly #git: Git
  readonly #dataDir: string
  /** The workers for which no branch could be made: whatever is there by that name is of somebody else. */
  readonly #without = new Set<string>()
  /** What is under way, by repository. */
  readonly #doing = new Map<string, Promise<unknown>>()

  constructor({ env, dataDir }: { env: Env; dataDir: string }) {
    this.#git = new Git(env)
    this.#dataDir = dataDir
  }

  async plan({ name, directory }: { name: string; directory: string }): Promise<PlannedWorktree> {
    const git = this.#git
    const checkout = await checkoutOf(git, directory)
    const way = await mustBeIn(git, checkout, directory)
    await mustHaveNoFilters(git, checkout)
    const { settings, note } = this.#settings(join(checkout.root, way))
    const worktree = await this.#free(checkout, name, homeOf(checkout.root, settings))
    const dirty = await this.#dirty(checkout)
    const notes = [
      ...(note === undefined ? [] : [note]),
      ...(dirty > 0
        ? [`Its worktree begins at the last commit: in ${checkout.top} ${files(dirty)} not committed, and not in it.`]
        : []),
    ]
    return { worktree, cwd: join(worktree.path, way), ...(notes.length > 0 ? { note: notes.join(' ') } : {}) }
  }

  /** For a note only: a repository in which git takes too long for it gets none. */
  async #dirty({ top }: CheckoutState): Promise<number> {
    try {
      return (await uncommittedOf(this.#git, top, {})).length
    } catch (error) {
      if (error instanceof GitError) return 0
      throw error
    }
  }

  make(worktree: Worktree, options: MakeWorktree): Promise<void> {
    return this.#alone(worktree, () => this.#add(worktree, options)).then(() => this.#furnish(worktree, options))
  }

  leave(worktree: Worktree, of: { worker: string; hasRun: boolean }): Promise<EndedWorktree> {
    return this.#alone(worktree, async () => {
      if (this.#without.delete(of.worker)) return {}
      try {
        return await this.#end(worktree, of)
      } catch (error) {
        // Whatever git says: what may hold work stays.
        return { kept: (error as Error).message }
      }
    })
  }

  async changes(worktree: Worktree): Promise<WorktreeChanges | undefined> {
    if (!exists(join(worktree.path, '.git'))) return undefined
    return changesOf(this.#git, worktree, (await markOf(this.#git, worktree))?.copied ?? {})
  }

  diff(worktree: Worktree): Promise<{ text: string; isCut: boolean }> {
    if (!exists(join(worktree.path, '.git'))) throw new RefusalError('worktree.unknown', { name: worktree.branch })
    return diffOf(this.#git, worktree)
  }

  async discard(worktree: Worktree, worker: string): Promise<void> {
    await this.#alone(worktree, async () => {
      if (isOfAnother(await markOf(this.#git, worktree), worker)) return
      await this.#remove(worktree)
      const tip = await this.#tip(worktree)
      if (tip !== undefined) await this.#setBranch(worktree, ['-d', refOf(worktree), tip])
    })
  }

  async #add(worktree: Worktree, { worker, marker }: MakeWorktree): Promise<void> {
    this.#without.add(worker)
    const { repository, path, branch, base } = worktree
    const home = join(path, '..')
    mustBePlain(repository, home)
    mkdirSync(home, { recursive: true })
    // Ignored by git, with nothing written into a file of the repository.
    if (!exists(join(home, '.gitignore'))) writeFileSync(join(home, '.gitignore'), '*\n')
    // Fails if there is such a branch by now: then it is not ours.
    await this.#setBranch(worktree, [refOf(worktree), base, '0'.repeat(base.length)])
    this.#without.delete(worker)
    const add = ['worktree', 'add', '--quiet', '--', path, branch]
    await this.#git.run(repository, add, { env: marker, timeoutMs: addMs })
    await writeMark(this.#git, worktree, { worker, copied: {}, isSettingUp: true })
  }

  async #furnish(worktree: Worktree, { worker, cwd, environment, signal, onSetup }: MakeWorktree): Promise<void> {
    const { settings = {} } = this.#settings(join(worktree.repository, relative(worktree.path, cwd)))
    await addSubmodules(this.#git, worktree, settings.submodules)
    const copied = copyFiles(worktree, settings.copy)
    const [file, ...args] = settings.setup ?? []
    if (file !== undefined) {
      await onSetup(`set-up: ${[file, ...args].join(' ')}`)
      await setUp([file, ...args], { cwd, env: environment, signal })
    }
    await writeMark(this.#git, worktree, { worker, copied })
  }

  async #end(worktree: Worktree, { worker, hasRun }: { worker: string; hasRun: boolean }): Promise<EndedWorktree> {
    const { path, repository } = worktree
    const git = this.#git
    if (!hasRun) await dropHalfMade(git, worktree)
    const listed = (await worktreesOf(git, repository)).find((each) => each.path === path)
    if (!listed && !isEmptied(path)) return { kept: 'git does not know it as a worktree of this repository' }
    const mark = listed && (await markOf(git, worktree))
    if (isOfAnother(mark, worker)) return {}
    if (listed && !mark && hasRun && exists(path)) return { kept: 'it was not made for this worker' }
    // Nobody has worked in one that was never handed over.
    const isUntouched = (mark === undefined || mark.isSettingUp === true) && !hasRun
    if (!isUntouched && exists(path)) {
      await restoreLink(git, worktree)
      const changes = await changesOf(git, worktree, mark?.copied ?? {})
      const inside = await this.#workInSubmodules(path)
      // A removal that was cut off has left files out: they are no work.
      const isHalfGone = mark?.isLeaving === true && changes.unmerged === 0 && (await lacksOnly(git, path))
      if (!isHalfGone && !isClean(changes)) return { kept: keptText(changes), changes }
      if (inside !== undefined) return { kept: inside, changes }
      await writeMark(this.#git, worktree, { worker, copied: mark?.copied ?? {}, isLeaving: true })
      dropCopies(path, mark?.copied ?? {})
      await this.#remove(worktree, isHalfGone)
    } else {
      if (!isUntouched && (await unmerged(git, worktree, listed?.head)) !== 0)
        return { kept: 'its directory is gone, and it had commits that are on no other branch' }
      await this.#remove(worktree, true)
    }
    await this.#dropBranch(worktree)
    return {}
  }

  /** A submodule's commits are only where they were made. */
  async #workInSubmodules(path: string): Promise<string | undefined> {
    for (const directory of await allSubmodulesIn(this.#git, path)) {
      const dirty = (await uncommittedOf(this.#git, directory, {})).length
      const own = ['rev-list', '--count', 'HEAD', '--not', '--branches', '--remotes', '--tags']
      const commits = Number(await this.#git.run(directory, own))
      const isOfUs = (await this.#git.run(directory, ['rev-parse', '--git-dir'])).includes('/worktrees/')
      if (dirty > 0 || commits !== 0 || !isOfUs) return `its submodule ${relative(path, directory)} may hold work`
    }
    return undefined
  }

  /** Without `force` git looks once more, and refuses if there is something it would lose. */
  async #remove({ repository, path }: Worktree, force = true): Promise<void> {
    const git = this.#git
    if (exists(join(path, '.git')))
      // What git had not finished has none.
      for (const directory of await allSubmodulesIn(git, path).catch(() => [])) {
        const from = join(repository, relative(path, directory))
        if (force && !exists(join(from, '.git'))) continue
        await git.run(from, ['worktree', 'remove', ...forced(force), '--', directory])
        // As it is before a submodule is checked out; without it the worktree would count as changed.
        mkdirSync(directory)
      }
    // Half made: git would not take it for a worktree.
    if (force && isPlainDirectory(path)) await rm(path, { recursive: true, force: true })
    if ((await worktreesOf(git, repository)).some((each) => each.path === path))
      await git.run(repository, ['worktree', 'remove', ...forced(force), '--', path])
  }

  async #dropBranch(worktree: Worktree): Promise<void> {
    const { repository } = worktree
    const tip = await this.#tip(worktree)
    const isInUse = (await worktreesOf(this.#git, repository)).some(({ ref }) => ref === refOf(worktree))
    if (tip === undefined || isInUse || (await unmerged(this.#git, worktree)) !== 0) return
    // Only as it was looked at.
    await this.#setBranch(worktree, ['-d', refOf(worktree), tip])
  }

  async #setBranch(worktree: Worktree, args: readonly string[]): Promise<void> {
    const set = () => this.#git.run(worktree.repository, ['update-ref', ...args])
    await set().catch(async (error) => {
      if (!(await dropDeadLock(this.#git, worktree))) throw error
      await set()
    })
  }

  #tip(worktree: Worktree): Promise<string | undefined> {
    return this.#git.line(worktree.repository, ['rev-parse', '--verify', '--quiet', refOf(worktree)])
  }

  /** The first of Fixer, Fixer-2, … of which there is neither a branch nor a directory. */
  async #free({ root, head, branch: onto }: CheckoutState, name: string, home: string): Promise<Worktree> {
    mustBePlain(root, home)
    const known = await worktreesOf(this.#git, root)
    for (let n = 1; n <= sameNameMax; n++) {
      const label = labelOf(name) + (n === 1 ? '' : `-${n}`)
      const [branch, path] = [`relay/${label}`, join(home, label)]
      const isTaken = exists(path) || known.some((each) => each.path === path)
      if (isTaken || (await this.#git.line(root, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`])))
        continue
      return { repository: root, path, branch, base: head, ...(onto === undefined ? {} : { onto }) }
    }
    throw new RefusalError('worktree.none', { directory: root, why: `${home} holds ${sameNameMax} of ${name} already` })
  }

  /** Making and ending change the same lists of git: one after the other, so that none finds them locked or half made. */
  #alone<T>({ repository }: Worktree, work: () => Promise<T>): Promise<T> {
    const doing = this.#doing
    const done = (doing.get(repository) ?? Promise.resolve()).then(work)
    const forget = () => doing.get(repository) === over && doing.delete(repository)
    const over: Promise<unknown> = done.then(forget, forget)
    doing.set(repository, over)
    return done
  }

  #settings(directory: string): { settings?: WorktreeSettings; note?: string } {
    const config = projectConfig(directory, this.#dataDir)
    const settings = config?.settings.worktree
    if (settings === undefined || config?.isTrusted) return { settings }
    return { note: `${config?.path} sets up worktrees, but is not trusted: agent-relay trust` }
  }
}

function homeOf(root: string, settings: WorktreeSettings | undefined): string {
  return resolve(root, settings?.directory ?? join('.relay', 'worktrees'))
}

/** Inside the repository no directory on the way may be a link, which would lead somewhere else. */
function mustBePlain(root: string, home: string): void {
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

/** True where nothing is there, or where git was cut off just after it had made the directory. */
function isEmptied(path: string): boolean {
  if (!exists(path)) return true
  try {
    rmdirSync(path)
    return true
  } catch {
    return false
  }
}

/** A name of an agent as a part of a branch's name: git takes no `..`, and no `.` or `.lock` at the end. */
function labelOf(name: string): string {
  return name.replace(/\.(?=\.|$)/g, '-').replace(/\.lock$/, '-lock')
}

/** The second one is for a worktree that git was still making. */
const forced = (force: boolean): string[] => (force ? ['--force', '--force'] : [])

function keptText({ unmerged, uncommittedCount, operation }: WorktreeChanges): string {
  return [
    ...(unmerged > 0 ? [unmerged === 1 ? '1 commit' : `${unmerged} commits`] : []),
    ...(uncommittedCount > 0 ? [`${files(uncommittedCount)} not committed`] : []),
    ...(operation === undefined ? [] : [`an open ${operation}`]),
  ].join(', ')
}

const files = (count: number): string => (count === 1 ? '1 file' : `${count} files`)
