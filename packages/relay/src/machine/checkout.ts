// Finds which file of which git checkout a path names, by looking at the file system alone: git itself would take too long before every edit. Links are
// followed; a file need not exist. Directories, paths outside every checkout and paths inside .git are no such files. A file system may not answer, so
// only a path probe looks (path-probe.ts).

import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import type { Place } from '../core/claims.ts'
import { pointerBytesMax, type UnsafeGitFile, unsafeGitFile } from './git-files.ts'

/** Maximum number of links on a path, the kernel's own limit. */
const linksMax = 40
/** A path with more parts names no file here: looking at it part by part would hold up everybody. */
const partsMax = 256

/** A question to a path probe. Relative paths begin at `cwd`. */
export interface Question {
  cwd: string
  files: readonly string[]
  /** Paths that stand for everything below them, if they are directories. */
  trees?: readonly string[]
  /** The directory whose checkout is asked for. */
  directory?: string
  /** True if git will be asked about the directory: then the files that it would open are checked. */
  isForGit?: boolean
}

export interface Looked {
  /** One place for each file; null if the path names no file of a checkout. */
  places: (Place | null)[]
  /** The directories among the trees, in the form in which the paths of their files begin. */
  trees: string[]
  root?: string
  /** The first path that names another file for each process, such as `/proc/self/cwd/a.txt`. */
  unclear?: string
  unsafe?: UnsafeGitFile
}

export function look({ cwd, files, trees = [], directory, isForGit }: Question): Looked {
  const all = directory === undefined ? [...files, ...trees] : [...files, ...trees, directory]
  return {
    unclear: all.find((file) => isUnclear(cwd, file)),
    places: files.map((file) => placeOf(cwd, file) ?? null),
    trees: outermost(trees.flatMap((file) => treeOf(cwd, file))),
    root: directory === undefined ? undefined : rootOf(directory),
    unsafe: directory !== undefined && isForGit ? unsafeGitFile(directory) : undefined,
  }
}

/** Leaves out directories that lie in another one of the list, since their files are asked for once. */
function outermost(trees: readonly string[]): string[] {
  const isAbove = (tree: string, other: string) => other.startsWith(tree === sep ? sep : tree + sep)
  return [...new Set(trees)].filter((tree, _, all) => !all.some((other) => other !== tree && isAbove(other, tree)))
}

/**
 * The real paths of a directory. A link to a directory has none, since moving or removing a link leaves the directory as it is. In a checkout that
 * ignores case both spellings are possible.
 */
function treeOf(cwd: string, file: string): string[] {
  const named = resolve(cwd, file)
  const above = isAbsolute(cwd) ? realPath(dirname(named)) : undefined
  if (above === undefined) return []
  const path = join(above, basename(named))
  if (!isDirectory(path) || isLink(path)) return []
  return [...new Set([path, folded(path)])]
}

/** The file of a checkout that a path names; undefined if it names none. */
export function placeOf(cwd: string, file: string): Place | undefined {
  if (!isAbsolute(cwd)) return undefined
  const path = realPath(resolve(cwd, file))
  const checkout = path === undefined ? undefined : checkoutAbove(dirname(path))
  if (path === undefined || !checkout) return undefined
  const { root, repository } = checkout
  const way = relative(root, path).split(sep).join('/')
  if (way === '.git' || way.startsWith('.git/') || isDirectory(path)) return undefined
  return { path: ignoresCase(root) ? folded(path) : path, root, file: way, repository }
}

/** The /proc directory of the process that looks; undefined if the system has none. */
const ownProcess = process.platform === 'linux' ? realPath('/proc/self') : undefined

/** Matches paths that go on behind a descriptor, which leads elsewhere in each process. */
const behindDescriptor = /^\/(?:dev|proc\/(?:self|thread-self))\/fd\/[^/]+\/./

/**
 * Whether the path, or a link on its way, goes through the /proc directory of whichever process opens it. A path probe's working directory is its own /proc
 * directory, so paths through `/proc/self/cwd` end there too. A descriptor itself is left alone: `/dev/stderr` is one, and it was opened before.
 */
function isUnclear(cwd: string, file: string): boolean {
  if (ownProcess !== undefined && behindDescriptor.test(resolve(cwd, file))) return true
  const path = isAbsolute(cwd) && ownProcess !== undefined ? realPath(resolve(cwd, file)) : undefined
  if (path === undefined || ownProcess === undefined) return false
  const way = relative(ownProcess, path)
  return !way.startsWith('..') && !/^fd\/[^/]+$/.test(way)
}

/** The root of the checkout that a directory is in. */
export function rootOf(directory: string): string | undefined {
  const path = isAbsolute(directory) ? realPath(directory) : undefined
  return path === undefined ? undefined : checkoutAbove(path)?.root
}

/** The path without links, even if its end does not exist. Undefined if links go round in a circle, or the path cannot or must not be looked at. */
function realPath(path: string): string | undefined {
  try {
    for (let [rest, links] = [path, 0]; links < linksMax && rest.split(sep).length <= partsMax; links++) {
      const real = realOf(rest)
      if (!isLink(real)) return real
      // A link that leads nowhere yet: the edit would make the file that it names.
      rest = resolve(dirname(real), readlinkSync(real))
    }
  } catch {}
  return undefined
}

/** The real path of the nearest existing directory above, with the rest of the path. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  const parts = path.split(sep)
  const upTo = (count: number) => parts.slice(0, count).join(sep) || sep
  // If one part is missing, all parts below it are missing too.
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

/** A file's status; undefined if nothing exists at the path, also if a file stands in the way. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (isAbsent(error)) return undefined
    throw error
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

function checkoutAbove(directory: string): { root: string; repository: string } | undefined {
  for (let root = directory; ; root = dirname(root)) {
    const git = statOf(join(root, '.git'))
    if (git) return { root, repository: git.isFile() ? repositoryOf(root) : join(root, '.git') }
    if (dirname(root) === root) return undefined
  }
}

/** The repository of a worktree: its .git file names its own part of the repository, and there another file names the shared part. */
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
  return readForeignText(path, { bytesMax: pointerBytesMax })?.trim() ?? ''
}

/** Whether the checkout's file system ignores case, so that .GIT and .git are the same file. */
function ignoresCase(root: string): boolean {
  const [lower, upper] = ['.git', '.GIT'].map((name) => statOf(join(root, name)))
  return lower !== undefined && upper !== undefined && lower.ino === upper.ino && lower.dev === upper.dev
}

function folded(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
