// File edits that an agent CLI's hook let through because the daemon did not answer in time. The hook leaves one small file (a note) for each such edit below
// `hooks/spool` of the data directory (mcp/src/hooks/edit.cts), in a folder for each workspace, and the daemon reads the notes before it decides about the next
// edit.

import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readForeignText, spoolName } from '@agent-relay/sdk/internal/discover'
import { parseJson } from '@agent-relay/sdk/internal/parse-json'
import { limits, operations } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import { attempt } from './attempt.ts'

const noteBytesMax = 256 * 1024
/** Maximum number of notes of late edits read at once; the rest is read the next time. */
const atOnceMax = 200
/** Age at which an unfinished note is removed: a hook writes its note in a moment, so the hook was killed. */
const unfinishedMs = 60_000

const LateEdit = operations['claim.edit'].input.extend({
  at: z.number(),
  /** The socket path of the workspace whose daemon did not answer in time. */
  socket: z.string(),
  /** Proof of the editing agent: the SHA-256 of its token, as in the database. `hosts`: ids of the processes that ran the hook. */
  proof: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  hosts: z.array(z.number().int()).max(16).optional(),
  thread: z.string().max(limits.idCharsMax).optional(),
})
export type LateEdit = z.infer<typeof LateEdit>

/** Returns the late edits of one workspace, oldest first, and removes their notes. Invalid and outdated notes are removed too. */
export function takeLateEdits(hooksPath: string, socket: string, now: number): LateEdit[] {
  const folder = join(hooksPath, 'spool', spoolName(socket))
  const found: LateEdit[] = []
  const names = namesIn(folder)
  for (const name of names.filter((name) => name.endsWith('.json')).slice(0, atOnceMax)) {
    const path = join(folder, name)
    const late = attempt(() => LateEdit.parse(parseJson(readForeignText(path, { bytesMax: noteBytesMax }) ?? '')))
    const isOver = !late || late.at > now + limits.claimMs || late.at < now - limits.claimMs
    rmSync(path, { recursive: true, force: true })
    if (!isOver && late.socket === socket) found.push(late)
  }
  for (const name of names.filter((name) => !name.endsWith('.json'))) removeOlder(join(folder, name), unfinishedMs)
  return found.sort((a, b) => a.at - b.at)
}

/** Removes notes of late edits that are too old for any workspace, such as those of a workspace that is closed. */
export function sweepLateEdits(hooksPath: string): void {
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
  return attempt(() => readdirSync(folder).sort()) ?? []
}
