// Makes backups of workspaces, and restores from them. Both run in the caller's process, not in the daemon. A running daemon only copies each database,
// and takes in what was restored (owner-controls.ts).

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
import { dropCredentials, endRestoredWork, nothingReset, type Reset } from './drop-credentials.ts'
import { KnownWorkspaces } from './known-workspaces.ts'

export { copyDatabase } from '../store/snapshot.ts'
export { type Backup, readBackup } from './backup-file.ts'

export interface BackupWish {
  path: string
  names: readonly string[]
  /** Copies the database of a workspace, as of one commit. */
  copy(name: string, to: string): Promise<void> | void
  /** Returns the key to put into the backup; without this function no keys are put there. */
  keyOf?(id: string): string | undefined
}

/** Makes a backup. The file appears only once it is whole and was read back. No file is overwritten. */
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

/** A folder in the data directory that is ready to become a workspace's own. */
export interface Placeable {
  folder: string
  id: string
  key: string
}

export interface Prepared extends Placeable {
  isKeyNew: boolean
  reset: Reset
  /** The number of its workers' worktrees that the workspace no longer looks after. */
  worktrees: number
  /** The workspace was shared when the backup was made. The copy lives on this machine alone. */
  wasShared: boolean
}

/** The keys of a restored workspace that are believed. */
export interface BelievedKey {
  /** The owner's key. If it opens the copy, the copy is the owner's own. */
  ownersKey?: string
  /** The key in the file is kept, because whoever restores has asked for that. */
  keepsKey?: boolean
}

/**
 * Makes a folder from one workspace of a backup, which can take the workspace's place. It lies in the data directory, where nobody sees it yet. Nothing
 * is written to its database before its schema is known to be ours. Then it is opened once, which brings its tables up to date and ends whatever ran
 * when the backup was made. Credentials that somebody else could know no longer open it.
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

/** Puts a prepared workspace into its place while no daemon runs; otherwise the daemon does this (owner-controls.ts). The caller holds the daemon's lock. */
export function placeAtRest(
  directory: DataDirectory,
  credentials: CredentialsFile,
  name: string,
  { folder, id, key }: Placeable,
): void {
  const known = new KnownWorkspaces(credentials, directory)
  known.placeRestored(name, folder, { id, key }, isBlankHome(directory, name))
}

/** Whether the workspace of this name has this id. */
export function isPlaced(directory: DataDirectory, name: string, id: string): boolean {
  const path = directory.database(name)
  return existsSync(path) && idOf(path) === id
}

/** Whether the workspace is a home that nobody has used: every daemon makes one, and replacing it loses nothing. */
export function isBlankHome(directory: DataDirectory, name: string): boolean {
  if (name !== homeWorkspace || !directory.has(name)) return false
  // A database that lacks entries may have lost all that was in it.
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
    const worktrees = await endRestoredWork(workspace)
    const isKey = (key: string | undefined) => key !== undefined && workspace.credentials.isKey(key)
    const isOwn = isKey(ownersKey)
    const former = [ownersKey, keepsKey ? kept.key : undefined].find(isKey)
    const key = former ?? (await workspace.rotateKey(() => {}))
    // The id alone proves nothing: everybody who was ever in the workspace has seen it.
    const reset = isOwn ? nothingReset : dropCredentials(workspace)
    if (fault) throw fault
    return { key, isKeyNew: former === undefined, reset, worktrees, wasShared }
  } finally {
    workspace.close()
  }
}
