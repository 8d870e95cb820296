// Unchecked edits: file edits that an agent CLI's hook let through because the daemon did not answer in time. The hook leaves one small file (a note) for
// each of them below `hooks/spool` of the data directory (mcp/src/hooks/edit.cts), in a folder for each workspace, and the daemon reads the notes
// before it decides about the next edit.

import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText, spoolName } from '@agent-relay/sdk/internal/discover'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { limits, operations } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { tryOrUndefined } from './try-or-undefined.ts'

const noteBytesMax = 256 * 1024
/** Maximum number of notes that are read at once, each about an edit that a hook let through; the rest is read the next time. */
const atOnceMax = 200
/** Age at which an unfinished note is removed: a hook writes a note in a moment, so this hook was killed. */
const unfinishedMs = 60_000

const UncheckedEdit = operations['claim.edit'].input.extend({
  at: z.number(),
  /** The socket path of the workspace whose daemon did not answer in time. */
  socket: z.string(),
  /**
   * `proof`: the SHA-256 of the editing agent's token, as in the database, by which the agent is recognised. `hosts`: ids of the processes that ran
   * the hook.
   */
  proof: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  hosts: z.array(z.number().int()).max(16).optional(),
  thread: z.string().max(limits.idCharsMax).optional(),
})
export type UncheckedEdit = z.infer<typeof UncheckedEdit>

/**
 * Returns the edits in one workspace that hooks let through because the daemon did not answer in time, oldest first, and removes the notes about
 * them. Invalid notes, and notes older than a claim can be, are removed too.
 */
export function takeUncheckedEdits(hooksPath: string, socket: string, now: number): UncheckedEdit[] {
  const folder = join(hooksPath, 'spool', spoolName(socket))
  const found: UncheckedEdit[] = []
  const names = namesIn(folder)
  for (const name of names.filter((name) => name.endsWith('.json')).slice(0, atOnceMax)) {
    const path = join(folder, name)
    const edit = tryOrUndefined(() =>
      UncheckedEdit.parse(parseJson(readForeignText(path, { bytesMax: noteBytesMax }) ?? '')),
    )
    const isOver = !edit || edit.at > now + limits.claimMs || edit.at < now - limits.claimMs
    rmSync(path, { recursive: true, force: true })
    if (!isOver && edit.socket === socket) found.push(edit)
  }
  for (const name of names.filter((name) => !name.endsWith('.json'))) removeOlder(join(folder, name), unfinishedMs)
  return found.sort((a, b) => a.at - b.at)
}

/**
 * Removes each workspace's folder of notes that has not changed for as long as a claim lasts: nobody will need the edits in it. Such folders remain
 * if a workspace is not opened again.
 */
export function removeOldEditNotes(hooksPath: string): void {
  const spool = join(hooksPath, 'spool')
  for (const name of namesIn(spool)) removeOlder(join(spool, name), limits.claimMs)
}

/** Removes a file or folder that was last changed more than `ms` ago, as the file system says. */
function removeOlder(path: string, ms: number): void {
  try {
    if (Date.now() - statSync(path).mtimeMs > ms) rmSync(path, { recursive: true, force: true })
  } catch {}
}

function namesIn(folder: string): string[] {
  return tryOrUndefined(() => readdirSync(folder).sort()) ?? []
}
