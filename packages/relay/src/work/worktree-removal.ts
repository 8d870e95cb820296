// Ends a worker's worktree: proves that it is ours, searches it for work, and removes it. Whatever the database says, only a worktree that the daemon
// made is removed. It has to be in the folder for worktrees and reached by no link; its `.git` file and git's own folder about the worktree have to
// name each other; and that folder has to contain the mark of this very worker.

import { lstatSync, readdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import type { Worktree, WorktreeChanges } from '@agent-relay/sdk/protocol'
import type { WorktreeRemovalResult } from '../broker/workers/worker-runtime.ts'
import { isInside } from '../machine/working-directory.ts'
import { branchTip, forceRemoveBranch, removeMergedBranch } from './branches.ts'
import { countUnmergedCommits, isClean, uncommittedFiles, worktreeChanges } from './changes.ts'
import type { Git } from './git.ts'
import { continueRemovals, removeEmptyFolder, removeFolder, withFolder } from './own-files.ts'
import {
  allSubmoduleDirectories,
  checkoutOf,
  commonGitDirectory,
  pathExists,
  refuseHangingFiles,
  workerBranch,
} from './repository.ts'
import {
  findWorktreeRecord,
  leadsToRecord,
  readWorktreeMark,
  type WorktreeRecord,
  worktreePathOf,
  worktreeRecordFolders,
} from './worktree-mark.ts'

/** A worktree that an ended worker has left, as the worker's row in the database describes it. */
export interface LeftWorktree {
  worktree: Worktree
  worker: string
  /** Whether the worker's program was started, so that work may be in the worktree. */
  hasRun: boolean
  /** The folder in which the worktree was made, as far as we know. */
  worktreesFolder: string
}

type OwnWorktreeRecord = Required<WorktreeRecord>

/** Removes the worktree, unless it holds work. If something is wrong with the worktree, throws before anything of it is removed. */
export async function removeIfClean(git: Git, left: LeftWorktree): Promise<WorktreeRemovalResult> {
  const { worktree, hasRun } = left
  const own = await findOwnRecord(git, left)
  if (own === 'of another') return {}
  if (own !== undefined) {
    // Nobody has worked in a worktree that was never handed over to its worker.
    const isUntouched = own.mark.isSettingUp === true && !hasRun
    const work = isUntouched ? undefined : await findWork(git, worktree, own)
    if (work) return work
    const copied = own.mark.copied ?? {}
    await removeWorktree(git, left, own, async (path) => {
      if (!isUntouched && (await uncommittedFiles(git, path, copied)).length > 0)
        throw new Error('somebody has just changed it')
    })
  }
  await removeMergedBranch(git, worktree)
  return {}
}

/** Removes the worktree with everything in it. */
export async function discardWorktree(git: Git, left: LeftWorktree): Promise<WorktreeRemovalResult> {
  const { worktree } = left
  const own = await findOwnRecord(git, left)
  if (own === 'of another') return {}
  if (own !== undefined) {
    await removeWorktree(git, left, own)
    await forceRemoveBranch(git, worktree)
    return {}
  }
  await removeMergedBranch(git, worktree)
  const isLeft = (await branchTip(git, worktree)) !== undefined
  return isLeft ? { kept: `only its branch is left. To remove the branch: git branch -D ${worktree.branch}` } : {}
}

/** Refuses a worktree whose path or branch the daemon would not give to a worker's worktree. */
export async function refuseMisplacedWorktree(
  git: Git,
  { worktree, worktreesFolder: home }: Pick<LeftWorktree, 'worktree' | 'worktreesFolder'>,
): Promise<void> {
  const { repository, path, branch } = worktree
  const name = basename(path)
  if (path !== join(home, name) || !/^[A-Za-z0-9]/.test(name) || branch !== workerBranch(name))
    throw new Error(
      `it is not in ${home}, where worktrees of workers are, on a branch of its name. Another worktree.directory counts while it is trusted: agent-relay trust`,
    )
  const { root } = await checkoutOf(git, repository)
  if (root !== repository) throw new Error(`${repository} is not the main checkout of its repository`)
  if (pathExists(home)) await withFolder(home, () => {})
}

/**
 * Finds git's own folder about the worktree, if the worktree belongs to this worker. Undefined if nothing of the worktree is left except, perhaps,
 * its branch.
 */
async function findOwnRecord(git: Git, left: LeftWorktree): Promise<OwnWorktreeRecord | 'of another' | undefined> {
  const { worktree, worker, worktreesFolder: home } = left
  await refuseMisplacedWorktree(git, left)
  for (const folder of [home, join(await commonGitDirectory(git, worktree.repository), 'worktrees')])
    await continueRemovals(folder)
  const record = await findWorktreeRecord(git, worktree, worker)
  // Nothing is left: git was interrupted just after it had made the directory, or somebody has removed everything.
  if (!record && (!pathExists(worktree.path) || (await removeEmptyFolder(worktree.path)))) return undefined
  if (!record) throw new Error('git does not know it as a worktree of this repository')
  const { mark } = record
  if (mark?.worker === undefined) throw new Error('it was not made for this worker')
  if (lstatSync(worktree.path, { throwIfNoEntry: false })?.isSymbolicLink()) throw new Error('a link is in its place')
  // The mark names another worker if the path had become free and that worker's worktree was made there.
  return mark.worker === worker ? { ...record, mark } : 'of another'
}

/** Finds work that would be lost if the worktree were removed; undefined if there is none. */
async function findWork(
  git: Git,
  worktree: Worktree,
  { folder, mark }: OwnWorktreeRecord,
): Promise<WorktreeRemovalResult | undefined> {
  const { path, repository } = worktree
  if (!pathExists(path)) {
    const head = ['rev-parse', '--verify', '--quiet', `worktrees/${basename(folder)}/HEAD^{commit}`]
    const isLost = (await countUnmergedCommits(git, worktree, await git.firstLine(repository, head))) !== 0
    return isLost ? { kept: 'its directory is gone, and it had commits that are on no other branch' } : undefined
  }
  // In a directory without its own `.git`, git would look at the checkout around it.
  if (!leadsToRecord(path, folder)) throw brokenLinkError(worktree)
  await refuseHangingFiles(path)
  const changes = await worktreeChanges(git, worktree, mark.copied ?? {})
  if (!isClean(changes)) return { kept: keptText(changes), changes }
  const inside = await workInSubmodules(git, path)
  return inside === undefined ? undefined : { kept: inside, changes }
}

/** Finds a submodule that may hold work: commits in a submodule are only in the checkout where they were made. */
async function workInSubmodules(git: Git, path: string): Promise<string | undefined> {
  for (const directory of await allSubmoduleDirectories(git, path)) {
    const dirty = (await uncommittedFiles(git, directory, {})).length
    const own = ['rev-list', '--count', 'HEAD', '--not', '--branches', '--remotes', '--tags']
    const commits = Number(await git.run(directory, own))
    const isOfUs = (await git.run(directory, ['rev-parse', '--git-dir'])).includes('/worktrees/')
    if (dirty > 0 || commits !== 0 || !isOfUs) return `its submodule ${relative(path, directory)} may hold work`
  }
  return undefined
}

/**
 * Removes the worktree first, then git's folders about submodule checkouts in it, and last git's folder about the worktree itself, so that the mark in that
 * folder stays until everything else is gone. `check` gets the path to which the worktree was moved.
 */
async function removeWorktree(
  git: Git,
  left: LeftWorktree,
  own: OwnWorktreeRecord,
  check?: (path: string) => Promise<void>,
): Promise<void> {
  const { worktree, worker, hasRun } = left
  const { path } = worktree
  await mustHoldNoOther(git, worktree)
  const inside = await recordsInside(git, worktree)
  await removeFolder(path, async (held, moved) => {
    // `isBegun`: whether git was interrupted while it wrote the file `.git`, which leads to git's own folder about the worktree.
    const isBegun = !hasRun && own.mark.isSettingUp && readdirSync(held).every((name) => name === '.git')
    if (!isBegun && !leadsToRecord(held, own.folder)) throw brokenLinkError(worktree)
    await check?.(moved)
  })
  for (const folder of inside)
    await removeFolder(folder, (held) => {
      if (!isInside(worktreePathOf(held) ?? '/', path)) throw new Error(`${folder} is about another checkout`)
    })
  await removeFolder(own.folder, (held) => {
    if (readWorktreeMark(held, path)?.worker !== worker) throw new Error(`${own.folder} is about another worktree`)
  })
}

/**
 * Refuses a worktree that contains another checkout: somebody may have made one inside it, or the configured folder for worktrees may contain the repository.
 */
async function mustHoldNoOther(git: Git, { repository, path }: Worktree): Promise<void> {
  const common = await commonGitDirectory(git, repository)
  const others = worktreeRecordFolders(common)
    .map(worktreePathOf)
    .filter((place) => place !== undefined && place !== path && pathExists(place))
  const held = [repository, common, ...(others as string[])].find((place) => isInside(place, path))
  if (held !== undefined) throw new Error(`it holds ${held}, which is not its own`)
}

/** Lists git's own folders about the checkouts of submodules in the worktree, even if the worktree is gone. */
async function recordsInside(git: Git, { repository, path }: Worktree): Promise<string[]> {
  const found: string[] = []
  for (const directory of await allSubmoduleDirectories(git, repository).catch(() => []))
    for (const folder of worktreeRecordFolders(await commonGitDirectory(git, directory)))
      if (isInside(worktreePathOf(folder) ?? '/', path)) found.push(folder)
  return found
}

function brokenLinkError({ repository, path }: Worktree): Error {
  const how = `To have git write that file again: git -C ${repository} worktree repair ${path}`
  return new Error(`its file .git does not name git's own folder about this worktree. ${how}`)
}

function keptText({ unmerged, uncommittedCount, operation }: WorktreeChanges): string {
  return [
    ...(unmerged > 0 ? [unmerged === 1 ? '1 commit' : `${unmerged} commits`] : []),
    ...(uncommittedCount > 0 ? [`${filesText(uncommittedCount)} not committed`] : []),
    ...(operation === undefined ? [] : [`an open ${operation}`]),
  ].join(', ')
}

export const filesText = (count: number): string => (count === 1 ? '1 file' : `${count} files`)
