// A file that appears whole or not at all, in a place where none is: a backup, an export.

import { existsSync, linkSync, lstatSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { quotedWord } from '@agent-relay/sdk/internal/command-words'
import { RefusalError } from '../core/refusal-error.ts'
import { syncFile, syncFolder } from './sync.ts'

/** `write` gets the path of a draft, beside which it may put what it needs meanwhile. Only this user can read any of it. */
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

/** Beside the place, so that the draft gets there in one step. What is wrong with the place is said before anything is written. */
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
  // The kernel's own folders: they are there, and nothing can be made in them.
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
    return misplaced(path, `there is no directory ${directory}`, `Make it first: mkdir -p ${quotedWord(directory)}`)
  const why = denials[code]
  return why === undefined ? error : new RefusalError('file.denied', { path, directory, why })
}

function misplaced(path: string, why: string, fix: string): RefusalError {
  return new RefusalError('file.misplaced', { path, why, fix })
}

/** The path itself, or what it would be made in. */
function nearest(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearest(dirname(path))
}

function isTaken(path: string): RefusalError {
  const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return new RefusalError('file.exists', { path, ...(isDirectory ? { isDirectory } : {}) })
}

/** In one step. */
function publish(draft: string, path: string): void {
  syncFile(draft)
  try {
    linkSync(draft, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || existsSync(path)) throw isTaken(path)
    // A file system on which a file has one name only.
    renameSync(draft, path)
  }
  syncFolder(dirname(path))
}
