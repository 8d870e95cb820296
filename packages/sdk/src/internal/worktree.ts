// Finds the repository of a linked git worktree by reading files, without running git. The files may be an attacker's: a worktree counts only if the repository
// itself lists it. paths.ts looks for project configuration there.

import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type ForeignFileOptions, readForeignFile } from './foreign-file.ts'

/** Maximum size of `.git`, `gitdir` and `commondir` if they are files: each holds only a path. */
export const gitPointerBytesMax = 8 * 1024

/**
 * Returns the directory that contains the `.git` directory of the repository to which a linked worktree belongs; undefined if `directory` is not the root of
 * such a worktree. A submodule is not a worktree, and a bare repository has no such directory.
 */
export function repositoryDirectory(directory: string): string | undefined {
  const record = pathIn(join(directory, '.git'), /^gitdir: (.+)$/)
  if (record === undefined) return undefined
  const worktrees = dirname(record)
  const repository = dirname(dirname(worktrees))
  if (join(repository, '.git', 'worktrees', basename(record)) !== record) return undefined
  const pointer = pathIn(join(record, 'gitdir'), /^(.+)$/, { within: repository })
  return pointer !== undefined && pointer === join(realPath(directory), '.git') ? repository : undefined
}

/** Reads a file of git that holds one path. Returns undefined for any other content, for unsafe files, and for files of another user. */
function pathIn(file: string, pattern: RegExp, options: ForeignFileOptions = {}): string | undefined {
  try {
    const found = readForeignFile(file, { bytesMax: gitPointerBytesMax, ...options })
    const [, path] = pattern.exec(found?.bytes.toString('utf8').replace(/\r?\n$/, '') ?? '') ?? []
    if (found === undefined || path === undefined || path.includes('\0') || !isOurs(found.stats.uid)) return undefined
    return resolve(realPath(dirname(file)), path)
  } catch {
    return undefined
  }
}

function isOurs(uid: number): boolean {
  const own = process.getuid?.()
  return own === undefined || uid === 0 || uid === own
}

function realPath(path: string): string {
  return realpathSync.native(path)
}
