// Making a backup of workspaces, and restoring from one. Both run in the process of whoever asked, not in the daemon: of a daemon that runs they
// need no more than a copy of each database, and that it takes in what was restored (owner-controls.ts).

import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { homeWorkspace } from '@agent-relay/sdk/internal/discover'
import { makeIds } from '@agent-relay/sdk/protocol'
import { Workspace } from '../broker/workspace.ts'
import { systemClock } from '../machine/clock.ts'
import type { CredentialsFile } from '../machine/credentials-file.ts'
import type { DataDirectory } from '../machine/data-directory.ts'
import { writeNewFile } from '../machine/new-file.ts'
import { version } from '../machine/version.ts'
import { columnFault } from '../store/column-check.ts'
import { contentsOf, idOf, isBlank } from '../store/contents.ts'
import { damaged } from '../store/damage.ts'
import { lookAtEnd } from '../store/journal-end.ts'
import { schemaFault } from '../store/schema.ts'
import { soundnessOf } from '../store/soundness.ts'
import {
  type Backup,
  BackupWriter,
  invalid,
  type KeptWorkspace,
  readBackup,
  readDatabase,
  writeAll,
} from './backup-file.ts'
import { distrust, letGo, nothingReset, type Reset } from './distrust.ts'
import { KnownWorkspaces } from './known-workspaces.ts'

export { copyDatabase } from '../store/snapshot.ts'
export { type Backup, readBackup } from './backup-file.ts'

export interface BackupWish {
  path: string
  names: readonly string[]
  /** Copies the database of a workspace, as of one commit. */
  copy(name: string, to: string): Promise<void> | void
  /** The key to put beside it; none, if this is left out. */
  keyOf?(id: string): string | undefined
}

/** The file is there once it is whole and was read back, and not before. No file is overwritten. */
export function makeBackup({ path, ...wish }: BackupWish): Promise<KeptWorkspace[]> {
  return writeNewFile(path, async (draft) => {
    const kept = await write(draft, wish)
    const backup = readBackup(draft)
    for (const workspace of backup.workspaces) readDatabase(backup, workspace)
    return kept
  })
}

async function write(draft: string, wish: Omit<BackupWish, 'path'>): Promise<KeptWorkspace[]> {
  const writer = new BackupWriter(draft)
  try {
    const kept: KeptWorkspace[] = []
    for (const name of wish.names) {
      const database = `${draft}.db`
      await wish.copy(name, database)
      const { id, ...contents } = contentsOf(database)
      if (id === undefined) throw damaged(database, 'it has no id')
      kept.push(writer.add(database, { name, id, ...contents, key: wish.keyOf?.(id) }))
      rmSync(database)
    }
    writer.end(version)
    return kept
  } finally {
    writer.close()
  }
}

/** A folder in the data directory that becomes the workspace's own. */
export interface Placeable {
  folder: string
  id: string
  key: string
}

export interface Prepared extends Placeable {
  isKeyNew: boolean
  reset: Reset
  /** How many worktrees of its workers it does not look after any more. */
  worktrees: number
  /** With other machines, when the backup was made. The copy lives on this one alone. */
  wasShared: boolean
}

/** Which key of a restored workspace is believed. */
export interface BelievedKey {
  /** The one that its owner has of it. Where it opens the copy, the copy is the owner's own. */
  ownersKey?: string
  /** Whoever restores has said that the key in the file is to be kept. */
  keepsKey?: boolean
}

/**
 * Makes of one workspace of a backup a folder that can take its place, in the data directory and not seen by anybody yet. Nothing is written to
 * its database before its schema is known to be ours. Then it is opened once, which brings its tables up to date; what ran when the backup was
 * made has ended; and what somebody else could know of it does not open it.
 */
export async function prepare(
  backup: Backup,
  kept: Backup['workspaces'][number],
  directory: DataDirectory,
  trust: BelievedKey = {},
): Promise<Prepared> {
  const folder = directory.newFolder()
  try {
    const path = join(folder, 'relay.db')
    extract(backup, kept, path)
    const fault = schemaFault(path) ?? soundnessOf(path)
    const found = fault === 'ok' ? columnFault(path) : fault
    if (found !== undefined) throw invalid(backup.path, `${kept.name}: ${found}`)
    const settled = await settle(kept, path, trust)
    directory.markPlaced(folder, { id: kept.id, key: settled.key })
    return { folder, id: kept.id, ...settled }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/** What the daemon does where one runs: see owner-controls.ts. Whoever calls this holds the daemon's lock. */
export function placeAtRest(
  directory: DataDirectory,
  credentials: CredentialsFile,
  name: string,
  { folder, id, key }: Placeable,
): void {
  const known = new KnownWorkspaces(credentials, directory)
  known.takeIn(name, folder, { id, key }, isBlankHome(directory, name))
}

/** Whether the workspace that lies there is this one. */
export function isPlaced(directory: DataDirectory, name: string, id: string): boolean {
  const path = directory.database(name)
  return existsSync(path) && idOf(path) === id
}

/** The home that every daemon makes is no loss while nobody was in it. */
export function isBlankHome(directory: DataDirectory, name: string): boolean {
  if (name !== homeWorkspace || !directory.has(name)) return false
  // What it lacks may be all that was in it.
  const path = directory.database(name)
  return lookAtEnd(path).gap === undefined && isBlank(path)
}

function extract(backup: Backup, kept: Backup['workspaces'][number], path: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    readDatabase(backup, kept, (chunk) => writeAll(file, chunk))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

async function settle(
  kept: KeptWorkspace,
  databasePath: string,
  { ownersKey, keepsKey }: BelievedKey,
): Promise<Omit<Prepared, 'folder' | 'id'>> {
  const ids = makeIds()
  let fault: Error | undefined
  const onFatal = (error: Error) => {
    fault = error
  }
  const options = { name: kept.name, databasePath, searchPath: ':memory:', clock: systemClock, ids }
  const workspace = new Workspace({ ...options, onFatal, onTrouble: () => {} })
  try {
    const { store } = workspace
    if (workspace.id !== kept.id) throw damaged(databasePath, `its id is ${workspace.id}, not ${kept.id}`)
    const wasShared = store.isShared
    if (wasShared) store.takeBack()
    const worktrees = await letGo(workspace)
    const isKey = (key: string | undefined) => key !== undefined && workspace.credentials.isKey(key)
    const isOwn = isKey(ownersKey)
    const former = [ownersKey, keepsKey ? kept.key : undefined].find(isKey)
    const key = former ?? (await workspace.rotateKey(() => {}))
    // The id alone proves nothing: everybody who was ever in the workspace has seen it.
    const reset = isOwn ? nothingReset : distrust(workspace)
    if (fault) throw fault
    return { key, isKeyNew: former === undefined, reset, worktrees, wasShared }
  } finally {
    workspace.close()
  }
}
