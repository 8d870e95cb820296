// A file that is not the database that was written: what is said of it, and the one mend that works. Finding it out is database.ts's and soundness.ts's affair.

import { basename, dirname, join } from 'node:path'
import { RefusalError } from '../refusal-error.ts'

export function damaged(path: string, reason: string): RefusalError {
  return new RefusalError('workspace.damaged', { path, reason, mend: mendOf(path) })
}

/** Whether this very file was found damaged. */
export function isDamage(error: unknown, path: string): boolean {
  return (
    error instanceof RefusalError && error.refusal.code === 'workspace.damaged' && error.refusal.details.path === path
  )
}

/**
 * For a shell, as it stands. The daemon goes first, since it would go on with the file that it has open; the log goes with the file,
 * since SQLite would play it into whatever takes its place.
 */
export function mendOf(path: string): string {
  const folder = dirname(path)
  const away = quoted(join(folder, 'damaged'))
  const start = `agent-relay daemon start --project ${quoted(basename(folder))}`
  return `agent-relay daemon stop; mkdir -p ${away}; mv ${quoted(path)}* ${away}; ${start}`
}

function quoted(text: string): string {
  return /^[\w./@:+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
