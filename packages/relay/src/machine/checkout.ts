// Finds the file of a git checkout that a path names, by reading the file system alone: git itself would take too long before every edit. Links are followed,
// and the file need not exist. Directories, paths outside every checkout and paths inside .git do not count. A hanging file system blocks whoever reads it, so
// this code runs only in the process of path-probe.ts.

import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { gitPointerBytesMax, readForeignText } from '@agent-relay/sdk/internal/discover'
import type { CheckoutFile } from '../core/claims.ts'
import { type UnsafeGitFile, unsafeGitFile } from './git-files.ts'
import { tryOrUndefined } from './try-or-undefined.ts'

/** Maximum number of symbolic links on a path, the kernel's own limit. */
const linksMax = 40
/** Maximum number of parts of a path. A longer path counts as no file: resolving it part by part would delay the other questions to the path probe. */
const partsMax = 256

/** A question to a path probe (path-probe.ts). Relative paths begin at `cwd`. */
export interface PathQuestion {
  cwd: string
  files: readonly string[]
  /** Paths that may be directories; a directory stands for all files below it. */
  trees?: readonly string[]
  /** The directory whose checkout is wanted, as `root` of the answer. Unset if no checkout is wanted. */
  directory?: string
  /** Whether git will run in `directory`: then the files that git would open there are checked first. */
  isForGit?: boolean
}

export interface PathAnswer {
  /** The place of each file of the question in its git checkout; null if the path names no file of a checkout. */
  places: (CheckoutFile | null)[]
  /** The real paths of those `trees` of the question that are directories. The path of each file in such a directory begins with one of these. */
  trees: string[]
  root?: string
  /** The first path of the question that means a different file in each process, such as `/proc/self/cwd/a.txt`. Unset if there is none. */
  unclear?: string
  unsafe?: UnsafeGitFile
}

export function answerPathQuestion({ cwd, files, trees = [], directory, isForGit }: PathQuestion): PathAnswer {
  const all = directory === undefined ? [...files, ...trees] : [...files, ...trees, directory]
  return {
    unclear: all.find((file) => isUnclear(cwd, file)),
    places: files.map((file) => placeInCheckout(cwd, file) ?? null),
    trees: outermost(trees.flatMap((file) => treePaths(cwd, file))),
    root: directory === undefined ? undefined : checkoutRoot(directory),
    unsafe: directory !== undefined && isForGit ? unsafeGitFile(directory) : undefined,
  }
}

/** Removes directories that lie inside another directory of the list, since the outer directory stands for their files too. */
function outermost(trees: readonly string[]): string[] {
  const isAbove = (tree: string, other: string) => other.startsWith(tree === sep ? sep : tree + sep)
  return [...new Set(trees)].filter((tree, _, all) => !all.some((other) => other !== tree && isAbove(other, tree)))
}

/**
 * Returns the real path of a directory, also in lower case, since its checkout may ignore case. Returns nothing for a link to a directory: moving or removing
 * the link leaves the directory itself as it is.
 */
function treePaths(cwd: string, file: string): string[] {
  const named = resolve(cwd, file)
  const above = isAbsolute(cwd) ? realPath(dirname(named)) : undefined
  if (above === undefined) return []
  const path = join(above, basename(named))
  if (!isDirectory(path) || isLink(path)) return []
  return [...new Set([path, ignoringCase(path)])]
}

/** Returns the file of a git checkout that a path names; undefined if the path names none. */
export function placeInCheckout(cwd: string, file: string): CheckoutFile | undefined {
  if (!isAbsolute(cwd)) return undefined
  const path = realPath(resolve(cwd, file))
  const checkout = path === undefined ? undefined : checkoutAbove(dirname(path))
  if (path === undefined || !checkout) return undefined
  const { root, repository } = checkout
  const way = relative(root, path).split(sep).join('/')
  if (way === '.git' || way.startsWith('.git/') || isDirectory(path)) return undefined
  return { path: ignoresCase(root) ? ignoringCase(path) : path, root, file: way, repository }
}

/** The /proc directory of this process; undefined on systems without /proc. */
const ownProcess = process.platform === 'linux' ? realPath('/proc/self') : undefined

/** Matches paths that continue behind a file descriptor, such as `/dev/fd/3/a.txt`: the same descriptor number leads elsewhere in each process. */
const behindDescriptor = /^\/(?:dev|proc\/(?:self|thread-self))\/fd\/[^/]+\/./

/**
 * Whether the path leads through the /proc directory of the process that opens it, and so means another file in each process. A path probe runs with
 * its own /proc directory as working directory, so `/proc/self/cwd` leads there too. A path to a descriptor itself, such as `/dev/stderr`, does not
 * count: the descriptor is open already.
 */
function isUnclear(cwd: string, file: string): boolean {
  if (ownProcess !== undefined && behindDescriptor.test(resolve(cwd, file))) return true
  const path = isAbsolute(cwd) && ownProcess !== undefined ? realPath(resolve(cwd, file)) : undefined
  if (path === undefined || ownProcess === undefined) return false
  const way = relative(ownProcess, path)
  return !way.startsWith('..') && !/^fd\/[^/]+$/.test(way)
}

/** Returns the root of the git checkout that contains a directory; undefined if none does. */
export function checkoutRoot(directory: string): string | undefined {
  const path = isAbsolute(directory) ? realPath(directory) : undefined
  return path === undefined ? undefined : checkoutAbove(path)?.root
}

/** Resolves the links of a path, whose last parts need not exist. Undefined if the links form a circle, or the path cannot or must not be read. */
function realPath(path: string): string | undefined {
  try {
    for (let [rest, links] = [path, 0]; links < linksMax && rest.split(sep).length <= partsMax; links++) {
      const real = realOf(rest)
      if (!isLink(real)) return real
      // A dangling link: an edit through the link would create the file that the link names.
      rest = resolve(dirname(real), readlinkSync(real))
    }
  } catch {}
  return undefined
}

/** Returns the real path of the nearest existing directory above, followed by the missing parts of the path. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  const parts = path.split(sep)
  const upTo = (count: number) => parts.slice(0, count).join(sep) || sep
  // Binary search for the first missing part: if one part is missing, all parts below it are missing too.
  let [there, missing] = [1, parts.length]
  while (missing - there > 1) {
    const middle = (there + missing) >> 1
    if (statOf(upTo(middle))) there = middle
    else missing = middle
  }
  return join(realpathSync.native(upTo(there)), ...parts.slice(there))
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** Returns a file's status; undefined if nothing exists at the path, or if a parent of the path is a file. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

function isDirectory(path: string): boolean {
  return tryOrUndefined(() => statSync(path).isDirectory()) ?? false
}

function isLink(path: string): boolean {
  return tryOrUndefined(() => lstatSync(path).isSymbolicLink()) ?? false
}

function checkoutAbove(directory: string): { root: string; repository: string } | undefined {
  for (let root = directory; ; root = dirname(root)) {
    const git = statOf(join(root, '.git'))
    if (git) return { root, repository: git.isFile() ? repositoryOf(root) : join(root, '.git') }
    if (dirname(root) === root) return undefined
  }
}

/**
 * Finds the shared git directory of a linked worktree: the worktree's `.git` file names the worktree's own git directory, and the file `commondir` in it names
 * the shared one.
 */
function repositoryOf(root: string): string {
  try {
    const own = resolve(root, textOf(join(root, '.git')).replace(/^gitdir: /, ''))
    const common = textOf(join(own, 'commondir'))
    return realpathSync.native(resolve(own, common === '' ? '.' : common))
  } catch {
    return join(root, '.git')
  }
}

function textOf(path: string): string {
  return readForeignText(path, { bytesMax: gitPointerBytesMax })?.trim() ?? ''
}

/** Whether the checkout's file system ignores case, so that .GIT and .git are the same file. */
function ignoresCase(root: string): boolean {
  const [lower, upper] = ['.git', '.GIT'].map((name) => statOf(join(root, name)))
  return lower !== undefined && upper !== undefined && lower.ino === upper.ino && lower.dev === upper.dev
}

function ignoringCase(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
