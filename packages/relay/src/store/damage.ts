// Makes refusals about damaged, missing or foreign database files, with the commands that repair them. The faults are detected in database.ts, integrity.ts,
// replaced-files-check.ts, migrating.ts and daemon/known-workspaces.ts.

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { shellQuote } from '@agent-relay/sdk/internal/command-words'
import type { Refusal } from '@agent-relay/sdk/protocol'
import { RefusalError } from '../core/refusal-error.ts'

export function damagedFileRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.damaged', { path, reason, ...repairCommands(path) })
}

/** A journal entry, by its number and the time at which it was stored. */
interface StoredEntry {
  seq: number
  at: number
}

/**
 * A journal that lacks entries at its end: `expected` is the last entry that was stored, `found` the last one that is there. See JournalGap in journal-end.ts.
 */
interface MissingEntries {
  isLocal: boolean
  expected: StoredEntry
  found: StoredEntry
}

/**
 * Makes the refusal of a database that is undamaged but lacks entries. The command `workspace recover` in it lets a person go on with the entries that are
 * left.
 */
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

/**
 * Makes the refusal of a database file that belongs to another workspace. `found` names the workspace that the file has, `own` the one that should be there.
 */
export function otherWorkspaceRefusal(path: string, found: string, own: string): RefusalError {
  return lostWorkspaceRefusal(path, `${path} is the database of ${found}, and its own is ${own}`)
}

/** Makes the refusal for a database file that was removed, replaced or cut while the daemon had it open. */
export function changedFileRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('store.replaced', { path, reason, workspace: workspaceOf(path), ...repairCommands(path) })
}

export function lostWorkspaceRefusal(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.lost', { path, reason, workspace: workspaceOf(path), ...repairCommands(path) })
}

/**
 * Returns what is wrong if a database is missing or empty; undefined if it may be opened or created. Call this before opening: SQLite would create a missing
 * database again, and delete the write-ahead log beside an empty one. `isKnown`: whether there was a workspace of this name before.
 */
export function missingDatabaseText(path: string, isKnown: boolean): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > 0) return undefined
  const found = size === undefined ? `${path} is missing` : `${path} has 0 bytes`
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > 0) return `${found}, although ${log} bytes of its log lie beside it in ${basename(path)}-wal`
  return isKnown ? found : undefined
}

/** Returns the refusal in the error, if it says that a workspace cannot be opened because of its files. */
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
 * Returns two repairs as shell commands to paste. `copy` puts a copy of the database in place. It stops the daemon first, which would go on writing to the old
 * file, and moves the write-ahead log away, which SQLite would apply to the copy. `startOver` begins with an empty workspace, and keeps the damaged files in
 * case somebody can read them.
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
