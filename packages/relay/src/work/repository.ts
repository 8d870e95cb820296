// Reads git's view of a directory: its checkout, the repository's main checkout, its HEAD, and its worktrees. Writes nothing.

import { lstatSync } from 'node:fs'
import { join, relative } from 'node:path'
import { RefusalError } from '../core/refusal-error.ts'
import { pathProbe } from '../machine/path-probe.ts'
import { isInside, realDirectory } from '../machine/working-directory.ts'
import { type Git, GitError } from './git.ts'

export interface CheckoutState {
  /** The directory of this checkout, without links in its path. */
  top: string
  /** The repository's main checkout; `top` itself if the repository is bare. */
  root: string
  /** The commit that is checked out. */
  head: string
  /** The name of the branch that is checked out; unset if no branch is. */
  branch?: string
}

export interface ListedWorktree {
  path: string
  head?: string
  /** The full name of the branch, `refs/heads/…`. */
  ref?: string
  isBare: boolean
}

/** Timeout of each question to git about a checkout, for which git reads a few small files. */
const lookMs = 10_000

/** Refuses a directory whose repository has files on which git would hang, such as a FIFO. */
export async function refuseHangingFiles(directory: string): Promise<void> {
  const looked = await pathProbe.ask({ cwd: directory, files: [], directory, isForGit: true }, directory)
  if (!looked) throw noWorktree(directory, 'its file system, or that of its repository, does not answer')
  if (looked.unsafe)
    throw noWorktree(directory, `${looked.unsafe.path}: ${looked.unsafe.why}. Remove it, then try again`)
}

/**
 * Finds the git checkout of a directory. Refuses a directory outside every checkout, a repository without a commit, and one with files on which git would hang.
 */
export async function checkoutOf(git: Git, directory: string): Promise<CheckoutState> {
  await refuseHangingFiles(directory)
  try {
    return await stateOf(git, directory)
  } catch (error) {
    if (!(error instanceof GitError && error.isTimeout)) throw error
    const fix = 'Remove what `find .git -type p` shows in its checkout, then try again'
    throw noWorktree(directory, `git did not answer in ${lookMs / 1_000} s. ${fix}`)
  }
}

async function stateOf(git: Git, directory: string): Promise<CheckoutState> {
  const options = { timeoutMs: lookMs }
  const where = ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir']
  const [top = '', own, common] = await git.run(directory, where, options).then(
    (text) => text.split('\n'),
    (error: unknown) => {
      throw error instanceof GitError && !error.isTimeout
        ? noWorktree(directory, 'git says it is in no checkout')
        : error
    },
  )
  // A repository's configuration can name any directory as its checkout. The named directory counts only if it contains the given directory and a .git.
  if (realDirectory(top) !== top || !isInside(directory, top) || !pathExists(join(top, '.git')))
    throw noWorktree(directory, `its repository names ${top} as its checkout`)
  const head = await git.firstLine(top, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], options)
  if (head === undefined) throw noWorktree(directory, 'its repository has no commit yet')
  const branch = await git.firstLine(top, ['symbolic-ref', '--quiet', '--short', 'HEAD'], options)
  return { top, root: own === common ? top : await mainCheckout(git, top), head, branch }
}

/** Returns the directory's path within the checkout. Refuses a directory that the checked-out commit does not contain, since a worktree would not have it. */
export async function pathInCheckout(git: Git, { top, head }: CheckoutState, directory: string): Promise<string> {
  const way = relative(top, directory)
  if (way === '') return way
  const entry = await git.run(top, ['ls-tree', '-d', '--full-tree', head, '--', way])
  if (!entry.startsWith('040000 tree ')) throw noWorktree(directory, 'it is not in the commit that is checked out')
  return way
}

/**
 * Refuses a repository whose own configuration names filters: without them its files would have other contents; with them, code of the repository would run.
 */
export async function refuseGitFilters(git: Git, { top }: CheckoutState): Promise<void> {
  const [name] = await git.repositoryFilters(top)
  if (name === undefined) return
  const how = 'only filters of your own configuration run (git config --global)'
  throw noWorktree(top, `its .git/config names the filter ${name}, which does not run for a worker; ${how}`)
}

/** Returns the paths of submodules in the checkout's index. */
export async function submodulePaths(git: Git, path: string): Promise<string[]> {
  const entries = (await git.run(path, ['ls-files', '--stage', '-z'])).split('\0')
  return entries.filter((entry) => entry.startsWith('160000 ')).map((entry) => entry.replace(/^[^\t]*\t/, ''))
}

/** Returns the directories of submodules that are checked out. A submodule behind a link is left out. */
export async function submoduleDirectories(git: Git, path: string): Promise<string[]> {
  const top = realDirectory(path) ?? path
  return (await submodulePaths(git, path))
    .filter((way) => realDirectory(join(path, way)) === join(top, way) && pathExists(join(path, way, '.git')))
    .map((way) => join(path, way))
}

/** Maximum depth of submodules within submodules. */
const depthMax = 8

/** Returns the directories of all submodules that are checked out, also those inside other submodules, the innermost first. */
export async function allSubmoduleDirectories(git: Git, path: string, depth = depthMax): Promise<string[]> {
  if (depth === 0) throw new Error(`${path} holds submodules in more than ${depthMax} submodules`)
  const found: string[] = []
  for (const directory of await submoduleDirectories(git, path))
    found.push(...(await allSubmoduleDirectories(git, directory, depth - 1)), directory)
  return found
}

/** Returns the git directory that all checkouts of the repository share, without links in its path. */
export async function commonGitDirectory(git: Git, directory: string): Promise<string> {
  return (await git.run(directory, ['rev-parse', '--path-format=absolute', '--git-common-dir'])).trimEnd()
}

async function mainCheckout(git: Git, top: string): Promise<string> {
  const [main] = await listWorktrees(git, top)
  const path = main && !main.isBare ? realDirectory(main.path) : undefined
  return path !== undefined && pathExists(join(path, '.git')) ? path : top
}

/** Lists the repository's worktrees, the main one first. */
export async function listWorktrees(git: Git, directory: string): Promise<ListedWorktree[]> {
  const text = await git.run(directory, ['worktree', 'list', '--porcelain', '-z'])
  return text
    .split('\0\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const fields = new Map(entry.split('\0').map((line) => [line.split(' ', 1)[0], line.replace(/^\S+ ?/, '')]))
      const [head, ref] = [fields.get('HEAD'), fields.get('branch')]
      return { path: fields.get('worktree') ?? '', head, ref, isBare: fields.has('bare') }
    })
}

/** Whether something exists at the path; true also for a link that leads nowhere. */
export function pathExists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    // A parent of the path is a file, so nothing exists at the path.
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return false
    throw error
  }
}

function noWorktree(directory: string, why: string): RefusalError {
  return new RefusalError('worktree.none', { directory, why })
}

/** Returns the name of the branch for a worker's worktree with this name. */
export function workerBranch(name: string): string {
  return `relay/${name}`
}

export function branchRef({ branch }: { branch: string }): string {
  return `refs/heads/${branch}`
}
