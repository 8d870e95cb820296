// Which file of which git checkout a path names, by looking at the file system alone: git itself would take too long before every edit. Links
// are followed; a file need not exist. A directory, what is outside every checkout, and what is inside .git is no such file.
// A file system may not answer: only a lookout looks (lookout.ts).

import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { readForeignText } from '@agent-relay/sdk/internal/discover'
import type { Place } from '../core/claims.ts'
import { pointerBytesMax, type UnsafeGitFile, unsafeGitFile } from './git-files.ts'

/** As the kernel has it. */
const linksMax = 40
/** A path with more parts names no file here: looking at it part by part would hold up everybody. */
const partsMax = 256

/** What a lookout is asked: paths begin at `cwd`. */
export interface Question {
  cwd: string
  files: readonly string[]
  /** Paths of which all that lies below is meant, if they are directories. */
  trees?: readonly string[]
  /** Whose checkout is asked for. */
  directory?: string
  /** Will git be asked about this directory? Then the files are looked at that it would open. */
  isForGit?: boolean
}

export interface Looked {
  /** One for each file; null where the path names no file of a checkout. */
  places: (Place | null)[]
  /** The directories among the trees, as their files' identities begin. */
  trees: string[]
  root?: string
  /** The first of the paths that names another file for each process, such as `/proc/self/cwd/a.txt`. */
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

/** Without those that lie in another: what is below is asked for once. */
function outermost(trees: readonly string[]): string[] {
  const isAbove = (tree: string, other: string) => other.startsWith(tree === sep ? sep : tree + sep)
  return [...new Set(trees)].filter((tree, _, all) => !all.some((other) => other !== tree && isAbove(other, tree)))
}

/** A link to a directory is not one: what removes or moves it leaves the directory as it is. Of a checkout that ignores case both spellings are possible. */
function treeOf(cwd: string, file: string): string[] {
  const named = resolve(cwd, file)
  const above = isAbsolute(cwd) ? realPath(dirname(named)) : undefined
  if (above === undefined) return []
  const path = join(above, basename(named))
  if (!isDirectory(path) || isLink(path)) return []
  return [...new Set([path, folded(path)])]
}

/** Undefined where the path names no file of a checkout. */
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

/** Of the process that looks; undefined where the system has no such directories. */
const ownProcess = process.platform === 'linux' ? realPath('/proc/self') : undefined

/** It goes on behind a descriptor, which is another one in each process, whatever this process has there. */
const behindDescriptor = /^\/(?:dev|proc\/(?:self|thread-self))\/fd\/[^/]+\/./

/**
 * Whether the path, or a link on its way, goes through the directory of whichever process opens it. A lookout works in its own such directory, so that
 * what goes through `/proc/self/cwd` ends there too. A descriptor itself is left alone: `/dev/stderr` is one, and what it leads to was opened before.
 */
function isUnclear(cwd: string, file: string): boolean {
  if (ownProcess !== undefined && behindDescriptor.test(resolve(cwd, file))) return true
  const path = isAbsolute(cwd) && ownProcess !== undefined ? realPath(resolve(cwd, file)) : undefined
  if (path === undefined || ownProcess === undefined) return false
  const way = relative(ownProcess, path)
  return !way.startsWith('..') && !/^fd\/[^/]+$/.test(way)
}

/** The checkout that a directory is in. */
export function rootOf(directory: string): string | undefined {
  const path = isAbsolute(directory) ? realPath(directory) : undefined
  return path === undefined ? undefined : checkoutAbove(path)?.root
}

/** Without links in it, also where the end of it does not exist. Undefined where links go round in a circle, or it cannot or must not be looked at. */
function realPath(path: string): string | undefined {
  try {
    for (let [rest, links] = [path, 0]; links < linksMax && rest.split(sep).length <= partsMax; links++) {
      const real = realOf(rest)
      if (!isLink(real)) return real
      // A link that leads nowhere yet: the edit would make what it names.
      rest = resolve(dirname(real), readlinkSync(real))
    }
  } catch {}
  return undefined
}

/** Of the nearest directory above that exists, with the rest of the path. */
function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
  const parts = path.split(sep)
  const upTo = (count: number) => parts.slice(0, count).join(sep) || sep
  // Where one part is missing, so are all below it.
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

/** Undefined where there is nothing, also where a file stands in the way. */
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

/** A worktree's .git is a file that names its part of the repository, where another file names what all of them share. */
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

/** Whether `A` and `a` are one file there, as .GIT and .git are then. */
function ignoresCase(root: string): boolean {
  const [lower, upper] = ['.git', '.GIT'].map((name) => statOf(join(root, name)))
  return lower !== undefined && upper !== undefined && lower.ino === upper.ino && lower.dev === upper.dev
}

function folded(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
