// Checks the files of a repository that git opens for every command. Somebody may have put a FIFO in the place of one, at which git would wait, or a
// device, which never ends. Their contents are left to git. A file system may not answer, so only a path probe looks (path-probe.ts).

import { type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { mustBeFile, readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'

/** Maximum size of `.git` and `commondir` where they are files: each holds a path. */
export const pointerBytesMax = 8 * 1024

/** `own`: files of each checkout. `shared`: files that all checkouts of a repository share. */
const own = ['HEAD', 'index', 'config.worktree', 'commondir', 'gitdir', 'info/sparse-checkout']
const shared = [
  ...['HEAD', 'config', 'packed-refs', 'shallow', 'info/exclude', 'info/attributes', 'info/grafts'],
  ...['objects/info/alternates', 'objects/info/commit-graph'],
]

/** Why a path that git would open must not be opened. */
export interface UnsafeGitFile {
  path: string
  why: string
}

/** The first git file that is not a regular file. If there is no checkout at all, git itself reports that. */
export function unsafeGitFile(directory: string): UnsafeGitFile | undefined {
  try {
    mustBeFiles(directory)
    return undefined
  } catch (error) {
    if (!(error instanceof UnsafeFileError)) throw error
    return { path: error.path, why: error.why }
  }
}

function mustBeFiles(directory: string): void {
  const pointer = pointerAbove(directory)
  if (pointer === undefined) return
  const folder = statOf(pointer)?.isDirectory()
    ? pointer
    : resolve(dirname(pointer), textOf(pointer).replace(/^gitdir: /, ''))
  check(folder, own)
  const common = resolve(folder, textOf(join(folder, 'commondir')) || '.')
  check(common, shared)
  const branch = /^ref: (refs\/.+)$/.exec(textOf(join(folder, 'HEAD')))?.[1]
  if (branch !== undefined) check(common, [branch])
}

function check(folder: string, names: readonly string[]): void {
  for (const name of names) {
    const stats = statOf(join(folder, name))
    if (stats) mustBeFile(join(folder, name), stats)
  }
}

function pointerAbove(directory: string): string | undefined {
  for (let top = directory; ; top = dirname(top)) {
    const path = join(top, '.git')
    if (statOf(path)) return path
    if (dirname(top) === top) return undefined
  }
}

/** Follows links, as git does. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A file stands where the path has a directory, or the path may not be looked at: git fails the same way.
    return undefined
  }
}

function textOf(path: string): string {
  return readForeignText(path, { bytesMax: pointerBytesMax, mayBeLink: true })?.trim() ?? ''
}
