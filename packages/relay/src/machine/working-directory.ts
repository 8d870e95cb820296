// The working directory of a program that the daemon starts: the directory that is named, or the best one known. Never the data directory with its keys.

import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { RefusalError } from '../core/refusal-error.ts'

export interface Whereabouts {
  /** The relay's own data directory. */
  dataDir: string
  /** The directory that was asked for; a relative path starts at the program's default directory. */
  wanted?: string
  /** Possible default directories, the best first; unknown and relative ones are skipped. */
  known: readonly (string | undefined)[]
  /** The directory that must not be left, with its real path; if the path is unknown, no directory is allowed. Left out: every directory will do. */
  within?: { directory?: string }
}

/** The real path of an existing directory, or a refusal that says the fix. */
export function allowedDirectory({ dataDir, wanted, known, within }: Whereabouts): string {
  const base = known.find((directory) => directory !== undefined && isAbsolute(directory))
  if (base === undefined && (wanted === undefined || !isAbsolute(wanted))) throw new RefusalError('directory.required')
  const path = resolve(base ?? '/', wanted ?? '.')
  const directory = realDirectory(path)
  const isPrivate = directory !== undefined && isInside(directory, realDirectory(dataDir) ?? resolve(dataDir))
  // A caller limited to a directory learns nothing of the disk: missing, private, a link or elsewhere, all get the same answer.
  if (within) mustBeWithin(within, isPrivate ? undefined : directory, { path: wanted ?? 'Where you work' })
  if (directory === undefined) throw new RefusalError('directory.unknown', { path })
  if (isPrivate) throw new RefusalError('directory.private', { path })
  return directory
}

/** `told`: the directory as its asker knows it. */
export function mustBeWithin(
  { directory: whole }: { directory?: string },
  directory: string | undefined,
  told: { path: string; isWorktree?: true },
): void {
  if (whole !== undefined && directory !== undefined && isInside(directory, whole)) return
  throw new RefusalError('directory.outside', { ...told, hasProject: whole !== undefined })
}

/** The path without links; undefined if there is no such directory. */
export function realDirectory(path: string | undefined): string | undefined {
  // An empty path would mean the daemon's own directory.
  if (!path) return undefined
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}

/** The directory itself counts as inside. Both are real paths. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way))
}
