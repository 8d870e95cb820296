// Finds the working directory of a program that the daemon starts: the directory that is named, or the best default. The data directory with its keys is never
// allowed.

import { realpathSync, statSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { RefusalError } from '../core/refusal-error.ts'

export interface WantedDirectory {
  /** The relay's own data directory. */
  dataDir: string
  /** The directory that the caller asked for; a relative path starts at the program's default directory. Unset if the default is meant. */
  wanted?: string
  /** Possible default directories, the best first; unknown and relative ones are skipped. */
  defaults: readonly (string | undefined)[]
  /** Limits the program to a directory, given as a real path; if the path is unknown, no directory is allowed. Unset if any directory is allowed. */
  within?: { directory?: string }
}

/** Returns the real path of the program's working directory, or throws a refusal that says the fix. */
export function allowedDirectory({ dataDir, wanted, defaults, within }: WantedDirectory): string {
  const base = defaults.find((directory) => directory !== undefined && isAbsolute(directory))
  if (base === undefined && (wanted === undefined || !isAbsolute(wanted))) throw new RefusalError('directory.required')
  const path = resolve(base ?? '/', wanted ?? '.')
  const directory = realDirectory(path)
  const isPrivate = directory !== undefined && isInside(directory, realDirectory(dataDir) ?? resolve(dataDir))
  // A caller limited to a directory learns nothing of the disk: a missing, private, linked or outside directory all get the same answer.
  if (within) mustBeWithin(within, isPrivate ? undefined : directory, { path: wanted ?? 'Where you work' })
  if (directory === undefined) throw new RefusalError('directory.unknown', { path })
  if (isPrivate) throw new RefusalError('directory.private', { path })
  return directory
}

/** Refuses a directory outside the one that the caller is limited to. `told`: the directory as the caller named it, for the refusal's text. */
export function mustBeWithin(
  { directory: whole }: { directory?: string },
  directory: string | undefined,
  told: { path: string; isWorktree?: true },
): void {
  if (whole !== undefined && directory !== undefined && isInside(directory, whole)) return
  throw new RefusalError('directory.outside', { ...told, hasProject: whole !== undefined })
}

/** Returns the path of a directory without links; undefined if no such directory exists. */
export function realDirectory(path: string | undefined): string | undefined {
  // An empty path would mean the daemon's own working directory.
  if (!path) return undefined
  try {
    const real = realpathSync(path)
    return statSync(real).isDirectory() ? real : undefined
  } catch {
    return undefined
  }
}

/** Whether a path lies in a directory or is the directory itself. Both must be real paths. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path)
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way))
}
