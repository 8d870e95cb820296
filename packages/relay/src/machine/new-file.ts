// Writes a new file that appears whole or not at all, such as a backup or an export. No file is overwritten.

import { existsSync, linkSync, lstatSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import { RefusalError } from '../core/refusal-error.ts'
import { syncFile, syncFolder } from './sync.ts'

/** Writes a new file through a draft. `write` gets the draft's path, beside which it may put temporary files; nobody but this user can read any of them. */
export async function writeNewFile<T>(path: string, write: (draft: string) => Promise<T>): Promise<T> {
  const place = resolve(path)
  const folder = draftFolder(place)
  try {
    const draft = join(folder, 'draft')
    const result = await write(draft)
    publish(draft, place)
    return result
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? new RefusalError('store.full') : error
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Makes a folder beside the target, so that the draft can be moved there in one step. A fault of the target is reported before anything is written. */
function draftFolder(place: string): string {
  try {
    if (lstatSync(place, { throwIfNoEntry: false })) throw isTaken(place)
    return mkdtempSync(join(dirname(place), '.agent-relay-'))
  } catch (error) {
    throw error instanceof RefusalError ? error : whyNoPlace(place, error as NodeJS.ErrnoException)
  }
}

const denials: Record<string, string> = {
  EACCES: 'you may not write there',
  EPERM: 'nobody may write there',
  EROFS: 'the disk is read-only',
  // The kernel's own folders, such as /proc, exist, but no file can be made in them.
  ENOENT: 'nobody can make a file there',
}

function whyNoPlace(path: string, error: NodeJS.ErrnoException): Error {
  const { code = '' } = error
  const directory = dirname(path)
  if (code === 'ENAMETOOLONG') return misplaced(path, 'its name is too long', 'Name a shorter one.')
  if (code === 'ENOSPC') return new RefusalError('store.full')
  const there = nearest(directory)
  if (!statSync(there).isDirectory())
    return misplaced(path, `${there} is a file and no directory`, 'Name another place.')
  if (code === 'ENOENT' && there !== directory)
    return misplaced(path, `there is no directory ${directory}`, `Make it first: mkdir -p ${shellQuote(directory)}`)
  const why = denials[code]
  return why === undefined ? error : new RefusalError('file.denied', { path, directory, why })
}

function misplaced(path: string, why: string, fix: string): RefusalError {
  return new RefusalError('file.misplaced', { path, why, fix })
}

/** Returns the nearest existing path: `path` itself or a directory above it. */
function nearest(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearest(dirname(path))
}

function isTaken(path: string): RefusalError {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return new RefusalError('file.exists', { path, ...(isDirectory ? { isDirectory } : {}) })
}

/** Moves the finished draft to its final path in one step; an existing file is not overwritten. */
function publish(draft: string, path: string): void {
  syncFile(draft)
  try {
    linkSync(draft, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(path)) throw isTaken(path)
    // Renames the draft if a hard link fails, as on file systems where a file can have only one name.
    renameSync(draft, path)
  }
  syncFolder(dirname(path))
}
