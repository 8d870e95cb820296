// Makes backups of workspaces, and restores them. Both run in the process of the command, not in the daemon: a running daemon only copies each database, and
// puts restored workspaces into place (owner-controls.ts).

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs'
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
import { isUnusedWorkspace, readArchiveRecords, readDatabaseContents, readWorkspaceId } from '../store/contents.ts'
import { damagedFileRefusal } from '../store/damage.ts'
import { checkIntegrity } from '../store/integrity.ts'
import { checkJournalEnd } from '../store/journal-end.ts'
import { schemaFault } from '../store/schema.ts'
import { archiveFolder } from './archive.ts'
import {
  type ArchiveToBackUp,
  type Backup,
  type BackupWorkspaceDescription,
  BackupWriter,
  invalidBackup,
  readBackup,
  readFromBackup,
  type WorkspaceInBackup,
  writeAllBytes,
} from './backup-file.ts'
import { type CredentialReset, dropCredentials, emptyCredentialReset, endRestoredWork } from './drop-credentials.ts'
import { KnownWorkspaces } from './known-workspaces.ts'

export { copyDatabase } from '../store/snapshot.ts'
export { type Backup, readBackup } from './backup-file.ts'

export interface BackupRequest {
  path: string
  names: readonly string[]
  /** Copies the database of a workspace as it is after one of its commits. */
  copy(name: string, to: string): Promise<void> | void
  /** Returns the folder of the workspace, which contains its archive. */
  folderOf(name: string): string
  /** Returns the key of a workspace for the backup. If this function is left out, the backup contains no keys. */
  keyOf?(id: string): string | undefined
}

/** Makes a backup. The file appears at its path only after it is complete and was read back. No existing file is overwritten. */
export function makeBackup({ path, ...wish }: BackupRequest): Promise<BackupWorkspaceDescription[]> {
  return writeNewFile(path, async (draft) => {
    const kept = await writeBackup(draft, wish)
    const backup = readBackup(draft)
    for (const workspace of backup.workspaces)
      for (const [what, part] of partsOf(workspace)) readFromBackup(backup, part, what)
    return kept
  })
}

async function writeBackup(draft: string, wish: Omit<BackupRequest, 'path'>): Promise<BackupWorkspaceDescription[]> {
  const writer = new BackupWriter(draft)
  try {
    const kept: BackupWorkspaceDescription[] = []
    for (const name of wish.names) {
      const database = `${draft}.db`
      await wish.copy(name, database)
      const { id, ...contents } = readDatabaseContents(database)
      if (id === undefined) throw damagedFileRefusal(database, 'it has no id')
      const archives = archivesOf(database, wish.folderOf(name))
      kept.push(writer.add(database, { name, id, ...contents, key: wish.keyOf?.(id) }, archives))
      rmSync(database)
    }
    writer.end(version)
    return kept
  } finally {
    writer.close()
  }
}

/** The files of the archive that belong to this copy of the database. Files that somebody has deleted are left out. */
function archivesOf(database: string, workspaceFolder: string): ArchiveToBackUp[] {
  const all = readArchiveRecords(database).map(({ file, bytes }) => ({
    ...{ file, bytes },
    path: join(workspaceFolder, archiveFolder, file),
  }))
  return all.filter(({ path }) => existsSync(path))
}

function partsOf(
  kept: WorkspaceInBackup,
): [what: string, part: WorkspaceInBackup['archive'][number] | WorkspaceInBackup][] {
  const { name, archive } = kept
  return [
    [`database of ${name}`, kept],
    ...archive.map((part) => [`archive of ${name}`, part] as [string, typeof part]),
  ]
}

/** A prepared folder in the data directory that can become the folder of a workspace. */
export interface PlaceableWorkspace {
  folder: string
  id: string
  key: string
}

export interface PreparedRestore extends PlaceableWorkspace {
  isKeyNew: boolean
  reset: CredentialReset
  /** Number of workers' worktrees that the restored workspace gives up. */
  worktrees: number
  /** Whether the workspace was shared between machines when the backup was made. The restored one is on this machine only. */
  wasShared: boolean
}

/** The keys that decide whether the person who restores a workspace is its owner, and which key it keeps. */
export interface RestoreKeyTrust {
  /** The key of this workspace that the owner has already. If it fits the backup, the workspace is the owner's own and keeps its tokens. */
  ownersKey?: string
  /** Whether the key in the backup stays valid: the person who restores it has asked for that. */
  keepsKey?: boolean
}

/**
 * Makes a folder from one workspace of a backup, ready to be put into its place. It lies in the data directory under a name that no workspace has. The database
 * is only opened after its schema was found to be ours. Opening it migrates its tables, ends the workers and runs of the time of the backup, and removes
 * credentials that others may know.
 */
export async function prepareRestore(
  backup: Backup,
  kept: Backup['workspaces'][number],
  directory: DataDirectory,
  trust: RestoreKeyTrust = {},
): Promise<PreparedRestore> {
  const folder = directory.makeRestoreFolder()
  try {
    const path = join(folder, 'relay.db')
    extractPart(backup, kept, `database of ${kept.name}`, path)
    if (kept.archive.length > 0) mkdirSync(join(folder, archiveFolder), { mode: 0o700 })
    for (const part of kept.archive)
      extractPart(backup, part, `archive of ${kept.name}`, join(folder, archiveFolder, part.file))
    const fault = schemaFault(path) ?? checkIntegrity(path)
    const found = fault === 'ok' ? columnFault(path) : fault
    if (found !== undefined) throw invalidBackup(backup.path, `${kept.name}: ${found}`)
    const settled = await settleRestored(kept, path, trust)
    directory.markRestored(folder, { id: kept.id, key: settled.key })
    return { folder, id: kept.id, ...settled }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
}

/**
 * Puts a prepared workspace into its place. For a time without a daemon: the caller holds the daemon's lock. A running daemon uses owner-controls.ts instead.
 */
export function placeWithoutDaemon(
  directory: DataDirectory,
  credentials: CredentialsFile,
  name: string,
  { folder, id, key }: PlaceableWorkspace,
): void {
  const known = new KnownWorkspaces(credentials, directory)
  known.placeRestored(name, folder, { id, key }, isUnusedHome(directory, name))
}

/** Whether the workspace of this name has this id. */
export function isWorkspacePlaced(directory: DataDirectory, name: string, id: string): boolean {
  const path = directory.databasePath(name)
  return existsSync(path) && readWorkspaceId(path) === id
}

/** Whether the workspace is the home workspace and was never used. Every daemon makes one, so it can be replaced without loss. */
export function isUnusedHome(directory: DataDirectory, name: string): boolean {
  if (name !== homeWorkspace || !directory.hasWorkspace(name)) return false
  // A database that lacks entries may only look unused, and is not replaced.
  const path = directory.databasePath(name)
  return checkJournalEnd(path).gap === undefined && isUnusedWorkspace(path)
}

function extractPart(backup: Backup, part: Parameters<typeof readFromBackup>[1], what: string, path: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    readFromBackup(backup, part, what, (chunk) => writeAllBytes(file, chunk))
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

async function settleRestored(
  kept: Pick<BackupWorkspaceDescription, 'name' | 'id' | 'key'>,
  databasePath: string,
  { ownersKey, keepsKey }: RestoreKeyTrust,
): Promise<Omit<PreparedRestore, 'folder' | 'id'>> {
  const ids = makeIds()
  let fault: Error | undefined
  const onFatal = (error: Error) => {
    fault = error
  }
  const options = { name: kept.name, databasePath, searchPath: ':memory:', clock: systemClock, ids }
  const workspace = new Workspace({ ...options, onFatal, onTrouble: () => {} })
  try {
    const { store } = workspace
    if (workspace.id !== kept.id) throw damagedFileRefusal(databasePath, `its id is ${workspace.id}, not ${kept.id}`)
    const wasShared = store.isShared
    if (wasShared) store.endSharing()
    const worktrees = await endRestoredWork(workspace)
    const isKey = (key: string | undefined) => key !== undefined && workspace.credentials.isKey(key)
    const isOwn = isKey(ownersKey)
    const former = [ownersKey, keepsKey ? kept.key : undefined].find(isKey)
    const key = former ?? (await workspace.rotateKey(() => {}))
    // The owner's key must fit, the same id is not enough: everybody who was ever in the workspace knows its id.
    const reset = isOwn ? emptyCredentialReset : dropCredentials(workspace)
    if (fault) throw fault
    return { key, isKeyNew: former === undefined, reset, worktrees, wasShared }
  } finally {
    workspace.close()
  }
}
