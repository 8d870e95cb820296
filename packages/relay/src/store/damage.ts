// Refusals for a file that is not the database that was written, with the commands that help. The fault is found in database.ts, soundness.ts,
// same-files.ts, migrating.ts and daemon/known-workspaces.ts.

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'

export function damaged(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.damaged', { path, reason, ...fixesOf(path) })
}

/** An entry of a journal, and when it was stored. */
interface Stored {
  seq: number
  at: number
}

/** Entries that were stored and are gone: see Gap in journal-end.ts. */
interface Lack {
  isLocal: boolean
  expected: Stored
  found: Stored
}

/** The refusal of a database that is whole but lacks entries. A person can go on with what is left. */
export function cut(path: string, lack: Lack): RefusalError {
  const recover = `agent-relay workspace recover ${shellQuote(workspaceOf(path))}`
  return new RefusalError('workspace.damaged', { path, reason: lackText(lack), lack, recover, ...fixesOf(path) })
}

function lackText({ isLocal, expected, found }: Lack): string {
  const told = ({ seq, at }: Stored) => `entry ${seq} of ${new Date(at).toISOString()}`
  const journal = isLocal ? 'what this machine has decided by itself' : 'its journal'
  if (found.seq >= expected.seq)
    return `${told(expected)} was stored, and is not in ${journal}: this is an older copy that has gone on, or another one`
  const ends = found.seq === 0 ? `${journal} is empty` : `${journal} ends with ${told(found)}`
  const gone = expected.seq - found.seq
  return `${ends}, but ${told(expected)} was stored${isLocal ? '' : `: ${gone} ${gone === 1 ? 'entry is' : 'entries are'} gone`}`
}

/** The refusal of another workspace's database in the place of this one's. Each is named by its workspace's name, if known. */
export function swapped(path: string, found: string, own: string): RefusalError {
  return lost(path, `${path} is the database of ${found}, and its own is ${own}`)
}

/** The refusal after the file was removed, replaced or cut while it was being written. */
export function replaced(path: string, reason: string): RefusalError {
  return new RefusalError('store.replaced', { path, reason, workspace: workspaceOf(path), ...fixesOf(path) })
}

export function lost(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.lost', { path, reason, workspace: workspaceOf(path), ...fixesOf(path) })
}

/**
 * A text that says what is missing where a database should be; undefined where a database may be made or opened. Call it before opening: SQLite would
 * make a missing database again, and delete the log beside an empty one. `isKnown`: there was a workspace of this name before.
 */
export function lossOf(path: string, isKnown: boolean): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > 0) return undefined
  const found = size === undefined ? `${path} is missing` : `${path} has 0 bytes`
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > 0) return `${found}, although ${log} bytes of its log lie beside it in ${basename(path)}-wal`
  return isKnown ? found : undefined
}

/** The refusal, if it says that the files of a workspace keep it from being opened. */
export function fileFaultOf(error: unknown): Refusal | undefined {
  if (!(error instanceof RefusalError)) return undefined
  return /^workspace\.(?:damaged|lost|newer)$/.test(error.refusal.code) ? error.refusal : undefined
}

/** Whether the error says that this very file is damaged. */
export function isDamage(error: unknown, path: string): boolean {
  return (
    error instanceof RefusalError && error.refusal.code === 'workspace.damaged' && error.refusal.details.path === path
  )
}

/**
 * Commands that can be pasted into a shell. `copy`, with a copy of the file: the daemon is stopped first, since it would go on with the file that it
 * has open, and the log is moved too, since SQLite would play it into the copy. `startOver`, without a copy: the damaged files are kept, in case
 * somebody can read them.
 */
export function fixesOf(path: string): { copy: string; startOver: string } {
  const folder = dirname(path)
  const workspace = shellQuote(workspaceOf(path))
  const away = shellQuote(join(dirname(dirname(folder)), 'damaged', workspaceOf(path)))
  const start = `agent-relay daemon start --project ${workspace}`
  const remove = `agent-relay workspace remove ${workspace} --yes --force`
  const make = `mkdir -p ${shellQuote(folder)} ${away}`
  return {
    copy: `agent-relay daemon stop; ${make}; mv ${shellQuote(path)}* ${away}; cp COPY ${shellQuote(path)}; ${start}`,
    startOver: `${make}; cp -p ${shellQuote(path)}* ${away}; agent-relay daemon restart; ${remove}; ${start}`,
  }
}

function workspaceOf(path: string): string {
  return basename(dirname(path))
}
