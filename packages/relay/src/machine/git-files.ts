// The files of a repository that git opens whatever it is asked for. In the place of one somebody may have put a FIFO, at which git would wait, or a
// device, which never ends: they are looked at before git is. What is in them is read by git. A file system may not answer: only a lookout looks
// (lookout.ts).

import { type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { mustBeFile, readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'

/** What `.git` and `commondir` say, where they are files, is a path. */
export const pointerBytesMax = 8 * 1024

/** Of each checkout, and of what all checkouts of a repository share. */
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

/** The first that is no file. Where there is no checkout at all, git says so. */
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

/** As git does, links are followed. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A file stands where the path has a directory, or it may not be looked at: git meets the same.
    return undefined
  }
}

function textOf(path: string): string {
  return readForeignText(path, { bytesMax: pointerBytesMax, mayBeLink: true })?.trim() ?? ''
}
