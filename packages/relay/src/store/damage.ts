// Refusals for a file that is not the database that we wrote, with the commands that help. The faults are found in database.ts, soundness.ts,
// opened-files.ts, migrating.ts and daemon/known-workspaces.ts.

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'

export function damagedFileRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.damaged', { path, reason, ...repairCommands(path) })
}

/** An entry of a journal, by its number, and the time at which it was stored. */
interface StoredEntry {
  seq: number
  at: number
}

/** Entries that were stored and are missing from their journal: see JournalGap in journal-end.ts. */
interface MissingEntries {
  isLocal: boolean
  expected: StoredEntry
  found: StoredEntry
}

/** Makes the refusal of a database that is whole but lacks entries. Its command `recover` lets a person go on with the entries that are left. */
export function missingEntriesRefusal(path: string, lack: MissingEntries): RefusalError {
  const recover = `agent-relay workspace recover ${shellQuote(workspaceOf(path))}`
  return new RefusalError('workspace.damaged', {
    path,
    reason: missingEntriesText(lack),
    lack,
    recover,
    ...repairCommands(path),
  })
}

function missingEntriesText({ isLocal, expected, found }: MissingEntries): string {
  const told = ({ seq, at }: StoredEntry) => `entry ${seq} of ${new Date(at).toISOString()}`
  const journal = isLocal ? 'what this machine has decided by itself' : 'its journal'
  if (found.seq >= expected.seq)
    return `${told(expected)} was stored, and is not in ${journal}: this is an older copy that has gone on, or another one`
  const ends = found.seq === 0 ? `${journal} is empty` : `${journal} ends with ${told(found)}`
  const gone = expected.seq - found.seq
  return `${ends}, but ${told(expected)} was stored${isLocal ? '' : `: ${gone} ${gone === 1 ? 'entry is' : 'entries are'} gone`}`
}

/** Makes the refusal of a file that is another workspace's database. `found` and `own` are the names of the two workspaces, if known. */
export function otherWorkspaceRefusal(path: string, found: string, own: string): RefusalError {
  return lostWorkspaceRefusal(path, `${path} is the database of ${found}, and its own is ${own}`)
}

/** Makes the refusal after a database file was removed, replaced or cut while the daemon was writing it. */
export function changedFileRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('store.replaced', { path, reason, workspace: workspaceOf(path), ...repairCommands(path) })
}

export function lostWorkspaceRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.lost', { path, reason, workspace: workspaceOf(path), ...repairCommands(path) })
}

/**
 * Says what is missing where a database should be; undefined if a database may be made or opened there. Call this function before opening: SQLite would
 * make a missing database again, and delete the log beside an empty one. `isKnown`: whether there was a workspace of this name before.
 */
export function missingDatabaseText(path: string, isKnown: boolean): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > 0) return undefined
  const found = size === undefined ? `${path} is missing` : `${path} has 0 bytes`
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > 0) return `${found}, although ${log} bytes of its log lie beside it in ${basename(path)}-wal`
  return isKnown ? found : undefined
}

/** Returns the refusal, if the error says that a workspace's files keep it from being opened. */
export function fileRefusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof RefusalError)) return undefined
  return /^workspace\.(?:damaged|lost|newer)$/.test(error.refusal.code) ? error.refusal : undefined
}

/** Whether the error says that the file at this path is damaged. */
export function isDamageError(error: unknown, path: string): boolean {
  return (
    error instanceof RefusalError && error.refusal.code === 'workspace.damaged' && error.refusal.details.path === path
  )
}

/**
 * Returns repairs of a workspace as commands that can be pasted into a shell. `copy` puts a copy of the file in its place: the daemon is stopped first,
 * since it would go on with the file that it has open, and the log is moved too, since SQLite would play the log into the copy. `startOver` needs no copy:
 * the damaged files are kept, in case somebody can read them.
 */
export function repairCommands(path: string): { copy: string; startOver: string } {
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
