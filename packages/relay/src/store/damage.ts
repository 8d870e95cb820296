// A file that is not the database that was written: the refusals that say so, with the commands that help. It is found out in database.ts,
// soundness.ts, same-files.ts and migrations.ts.

import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { quotedWord } from '@agent-relay/sdk/internal/command-words'
import { RefusalError } from '../core/refusal-error.ts'

export function damaged(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.damaged', { path, reason, ...fixesOf(path) })
}

/** The file was removed, replaced or cut while it was being written. */
export function replaced(path: string, reason: string): RefusalError {
  return new RefusalError('store.replaced', { path, reason, workspace: workspaceOf(path), ...fixesOf(path) })
}

export function lost(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.lost', { path, reason, workspace: workspaceOf(path), ...fixesOf(path) })
}

/**
 * What is missing where a database should be; undefined where a database may be made or opened. Ask before opening it: SQLite would make a
 * missing database again, and delete the log beside an empty one. `isKnown`: there was a workspace of this name before.
 */
export function lossOf(path: string, isKnown: boolean): string | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > 0) return undefined
  const found = size === undefined ? `${path} is missing` : `${path} has 0 bytes`
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (log > 0) return `${found}, although ${log} bytes of its log lie beside it in ${basename(path)}-wal`
  return isKnown ? found : undefined
}

/** Was this very file found damaged? */
export function isDamage(error: unknown, path: string): boolean {
  return (
    error instanceof RefusalError && error.refusal.code === 'workspace.damaged' && error.refusal.details.path === path
  )
}

/**
 * Commands that can be pasted into a shell. With a copy of the file: stop the daemon first, since it would go on with the file that it has
 * open; move the log too, since SQLite would play it into the file that takes its place. Without a copy: keep what is there, in case somebody
 * can read it.
 */
export function fixesOf(path: string): { copy: string; startOver: string } {
  const folder = dirname(path)
  const workspace = quotedWord(workspaceOf(path))
  const away = quotedWord(join(dirname(dirname(folder)), 'damaged', workspaceOf(path)))
  const start = `agent-relay daemon start --project ${workspace}`
  const remove = `agent-relay workspace remove ${workspace} --yes --force`
  const make = `mkdir -p ${quotedWord(folder)} ${away}`
  return {
    copy: `agent-relay daemon stop; ${make}; mv ${quotedWord(path)}* ${away}; cp COPY ${quotedWord(path)}; ${start}`,
    startOver: `${make}; cp -p ${quotedWord(path)}* ${away}; agent-relay daemon restart; ${remove}; ${start}`,
  }
}

function workspaceOf(path: string): string {
  return basename(dirname(path))
}
