// Ends a worker's worktree: proves that it is ours, searches it for work, and removes it. Whatever the database says, only a worktree that the daemon made is
// removed: it lies where the daemon's worktrees lie, reached by no link; it is a linked worktree, which leads to git's own folder about it, which leads back;
// and that folder has the mark of this very worker.

import { lstatSync, readdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import type { Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { EndedWorktree } from '../broker/workers/worker-runtime.ts'
import { isInside } from '../machine/working-directory.ts'
import { discardBranch, dropBranch, tipOf } from './branches.ts'
import { changesOf, isClean, uncommittedOf, unmerged } from './changes.ts'
import type { Git } from './git.ts'
import { inFolder, removeFolder, removeIfEmpty, takeUpRemovals } from './own-files.ts'
import { allSubmodulesIn, branchOf, checkoutOf, commonOf, exists, mustNotHoldGit } from './repository.ts'
import { leadsTo, markIn, placeOf, recordOf, recordsIn, type WorktreeRecord } from './worktree-mark.ts'

/** A worktree that an ended worker has left, as the worker's row in the database describes it. */
export interface Left {
  worktree: Worktree
  worker: string
  /** Whether the worker's program was started, so that work may be in the worktree. */
  hasRun: boolean
  /** The folder in which the worktree was made, as far as we know. */
  home: string
}

type Own = Required<WorktreeRecord>

/** Removes the worktree, unless it holds work. If something is wrong with the worktree, throws before anything of it is removed. */
export async function leave(git: Git, left: Left): Promise<EndedWorktree> {
  const { worktree, hasRun } = left
  const own = await ownOf(git, left)
  if (own === 'of another') return {}
  if (own !== undefined) {
    // Nobody has worked in a worktree that was never handed over to its worker.
    const isUntouched = own.mark.isSettingUp === true && !hasRun
    const work = isUntouched ? undefined : await workIn(git, worktree, own)
    if (work) return work
    const copied = own.mark.copied ?? {}
    await remove(git, left, own, async (path) => {
      if (!isUntouched && (await uncommittedOf(git, path, copied)).length > 0)
        throw new Error('somebody has just changed it')
    })
  }
  await dropBranch(git, worktree)
  return {}
}

/** Removes the worktree with everything in it. */
export async function discard(git: Git, left: Left): Promise<EndedWorktree> {
  const { worktree } = left
  const own = await ownOf(git, left)
  if (own === 'of another') return {}
  if (own !== undefined) {
    await remove(git, left, own)
    await discardBranch(git, worktree)
    return {}
  }
  await dropBranch(git, worktree)
  const isLeft = (await tipOf(git, worktree)) !== undefined
  return isLeft ? { kept: `of it only its branch is left. To remove that: git branch -D ${worktree.branch}` } : {}
}

/** Refuses a worktree whose path or branch the daemon would not give to a worker's worktree. */
export async function mustBeInPlace(git: Git, { worktree, home }: Pick<Left, 'worktree' | 'home'>): Promise<void> {
  const { repository, path, branch } = worktree
  const name = basename(path)
  if (path !== join(home, name) || !/^[A-Za-z0-9]/.test(name) || branch !== branchOf(name))
    throw new Error(
      `it is not in ${home}, where worktrees of workers are, on a branch of its name. Another worktree.directory counts while it is trusted: agent-relay trust`,
    )
  const { root } = await checkoutOf(git, repository)
  if (root !== repository) throw new Error(`${repository} is not the main checkout of its repository`)
  if (exists(home)) await inFolder(home, () => {})
}

/** Finds the worktree if it belongs to this worker. Undefined if nothing is left of the worktree but, perhaps, its branch. */
async function ownOf(git: Git, left: Left): Promise<Own | 'of another' | undefined> {
  const { worktree, worker, home } = left
  await mustBeInPlace(git, left)
  for (const folder of [home, join(await commonOf(git, worktree.repository), 'worktrees')]) await takeUpRemovals(folder)
  const record = await recordOf(git, worktree, worker)
  // Either git was interrupted just after it had made the directory, or somebody has removed everything.
  if (!record && (!exists(worktree.path) || (await removeIfEmpty(worktree.path)))) return undefined
  if (!record) throw new Error('git does not know it as a worktree of this repository')
  const { mark } = record
  if (mark?.worker === undefined) throw new Error('it was not made for this worker')
  if (lstatSync(worktree.path, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error('a link is in its place')
  // If the mark names another worker, the path became free and that worker's worktree has it.
  return mark.worker === worker ? { ...record, mark } : 'of another'
}

/** Finds work that would be lost if the worktree were removed; undefined if there is none. */
async function workIn(git: Git, worktree: Worktree, { folder, mark }: Own): Promise<EndedWorktree | undefined> {
  const { path, repository } = worktree
  if (!exists(path)) {
    const head = ['rev-parse', '--verify', '--quiet', `worktrees/${basename(folder)}/HEAD^{commit}`]
    const isLost = (await unmerged(git, worktree, await git.line(repository, head))) !== 0
    return isLost ? { kept: 'its directory is gone, and it had commits that are on no other branch' } : undefined
  }
  // In a directory without its own `.git`, git would look at the checkout around it.
  if (!leadsTo(path, folder)) throw notLeading(worktree)
  await mustNotHoldGit(path)
  const changes = await changesOf(git, worktree, mark.copied ?? {})
  if (!isClean(changes)) return { kept: keptText(changes), changes }
  const inside = await workInSubmodules(git, path)
  return inside === undefined ? undefined : { kept: inside, changes }
}

/** Finds a submodule that may hold work: commits in a submodule are only in the checkout where they were made. */
async function workInSubmodules(git: Git, path: string): Promise<string | undefined> {
  for (const directory of await allSubmodulesIn(git, path)) {
    const dirty = (await uncommittedOf(git, directory, {})).length
    const own = ['rev-list', '--count', 'HEAD', '--not', '--branches', '--remotes', '--tags']
    const commits = Number(await git.run(directory, own))
    const isOfUs = (await git.run(directory, ['rev-parse', '--git-dir'])).includes('/worktrees/')
    if (dirty > 0 || commits !== 0 || !isOfUs) return `its submodule ${relative(path, directory)} may hold work`
  }
  return undefined
}

/**
 * Removes the worktree first, then git's folders about submodule checkouts in it, and last git's folder about the worktree itself, so that the mark in that
 * folder stays until everything else is gone. `look` gets the path to which the worktree was moved.
 */
async function remove(git: Git, left: Left, own: Own, look?: (path: string) => Promise<void>): Promise<void> {
  const { worktree, worker, hasRun } = left
  const { path } = worktree
  await mustHoldNoOther(git, worktree)
  const inside = await recordsInside(git, worktree)
  await removeFolder(path, async (held, moved) => {
    // `isBegun`: whether git was interrupted while it wrote the file `.git`, which leads to git's own folder about the worktree.
    const isBegun = !hasRun && own.mark.isSettingUp && readdirSync(held).every((name) => name === '.git')
    if (!isBegun && !leadsTo(held, own.folder)) throw notLeading(worktree)
    await look?.(moved)
  })
  for (const folder of inside)
    await removeFolder(folder, (held) => {
      if (!isInside(placeOf(held) ?? '/', path)) throw new Error(`${folder} is about another checkout`)
    })
  await removeFolder(own.folder, (held) => {
    if (markIn(held, path)?.worker !== worker) throw new Error(`${own.folder} is about another worktree`)
  })
}

/**
 * Refuses a worktree that contains another checkout: somebody may have made one inside it, or the configured folder for worktrees may contain the repository.
 */
async function mustHoldNoOther(git: Git, { repository, path }: Worktree): Promise<void> {
  const common = await commonOf(git, repository)
  const others = recordsIn(common)
    .map(placeOf)
    .filter((place) => place !== undefined && place !== path && exists(place))
  const held = [repository, common, ...(others as string[])].find((place) => isInside(place, path))
  if (held !== undefined) throw new Error(`it holds ${held}, which is not its own`)
}

/** Lists git's own folders about the checkouts of submodules in the worktree, even if the worktree is gone. */
async function recordsInside(git: Git, { repository, path }: Worktree): Promise<string[]> {
  const found: string[] = []
  for (const directory of await allSubmodulesIn(git, repository).catch(() => []))
    for (const folder of recordsIn(await commonOf(git, directory)))
      if (isInside(placeOf(folder) ?? '/', path)) found.push(folder)
  return found
}

function notLeading({ repository, path }: Worktree): Error {
  const how = `To have git write it again: git -C ${repository} worktree repair ${path}`
  return new Error(`its .git is not the file that leads to what git knows of it. ${how}`)
}

function keptText({ unmerged, uncommittedCount, operation }: WorktreeChanges): string {
  return [
    ...(unmerged > 0 ? [unmerged === 1 ? '1 commit' : `${unmerged} commits`] : []),
    ...(uncommittedCount > 0 ? [`${files(uncommittedCount)} not committed`] : []),
    ...(operation === undefined ? [] : [`an open ${operation}`]),
  ].join(', ')
}

export const files = (count: number): string => (count === 1 ? '1 file' : `${count} files`)
