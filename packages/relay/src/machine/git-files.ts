// Checks the files of a repository that git opens for every command: git would hang on a FIFO or a device that somebody has put in place of such a
// file. The contents of the files are not checked. The file system itself may hang, so this code runs only in the process of path-probe.ts.

import { type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import {
  assertRegularFile,
  gitPointerBytesMax,
  readForeignText,
  UnsafeFileError,
} from '@agent-relay/sdk/internal/discover'

/** Names of the files that git opens. `own`: files of each checkout. `shared`: files that all checkouts of a repository share. */
const own = ['HEAD', 'index', 'config.worktree', 'commondir', 'gitdir', 'info/sparse-checkout']
const shared = [
  ...['HEAD', 'config', 'packed-refs', 'shallow', 'info/exclude', 'info/attributes', 'info/grafts'],
  ...['objects/info/alternates', 'objects/info/commit-graph'],
]

/** A path that git would open and that must not be opened, with the reason. */
export interface UnsafeGitFile {
  path: string
  why: string
}

/**
 * Finds the first file that git would open in the checkout around `directory` and that is not a regular file. Outside a checkout, returns undefined,
 * since git itself reports that.
 */
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
    if (stats) assertRegularFile(join(folder, name), stats)
  }
}

function pointerAbove(directory: string): string | undefined {
  for (let top = directory; ; top = dirname(top)) {
    const path = join(top, '.git')
    if (statOf(path)) return path
    if (dirname(top) === top) return undefined
  }
}

/** Returns a file's status, following links as git does; undefined if nothing can be found at the path. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A parent of the path is a file, or access is denied. git fails in these cases, too, so nothing has to be checked.
    return undefined
  }
}

function textOf(path: string): string {
  return readForeignText(path, { bytesMax: gitPointerBytesMax, mayBeLink: true })?.trim() ?? ''
}
