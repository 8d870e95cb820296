// The daemon's data directory on disk: the folder of each workspace, which workspaces exist, and which were open when the last daemon ended.

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isProjectName, projectDir } from '@agent-relay/sdk/internal/discover'
import { HooksFolder } from './hooks-folder.ts'
import { syncFolder } from './sync.ts'

const removedFolder = 'removed'
/** Folder in which a workspace from a backup is built before it moves to its place. */
const restoringFolder = 'restoring'
/** File that marks a workspace as unfinished until its database is complete and its key is stored. Nobody has been told of an unfinished workspace. */
const unfinishedMarkFile = 'beginning'

/** Says why the path cannot be a data directory, or cannot be made one; undefined if it can. Changes nothing. */
export function dataDirectoryFault(path: string): string | undefined {
  // A new data directory would be made in the nearest existing directory above, so that one must be writable.
  let there = path
  while (!existsSync(there) && there !== dirname(there)) there = dirname(there)
  try {
    if (!statSync(there).isDirectory()) return `${there} is no directory`
    accessSync(there, constants.W_OK | constants.X_OK | (there === path ? constants.R_OK : 0))
    return undefined
  } catch {
    return `you cannot write to ${there}`
  }
}

const portFile = 'http-port'

/** Reads the HTTP port that a daemon took because the usual port was not free; undefined if none did. */
export function storedPort(dataDir: string): number | undefined {
  try {
    const port = Number(readFileSync(join(dataDir, portFile), 'utf8'))
    return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined
  } catch {
    return undefined
  }
}

export function storePort(dataDir: string, port: number): void {
  writeFileSync(join(dataDir, portFile), `${port}\n`, { mode: 0o600 })
}

/** The id and key of a workspace from a backup. */
export interface RestoredKey {
  id: string
  key: string
}

export class DataDirectory {
  readonly path: string
  readonly hooks: HooksFolder

  constructor(path: string) {
    this.path = path
    this.hooks = new HooksFolder(join(path, 'hooks'))
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }

  /** The data directory's path without links, the same whichever path led to it. */
  get realPath(): string {
    return realpathSync(this.path)
  }

  /** Returns the folder of a workspace, and makes it if it is missing. */
  makeFolder(workspace: string): string {
    const directory = projectDir(this.path, workspace)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return directory
  }

  databasePath(workspace: string): string {
    return join(projectDir(this.path, workspace), 'relay.db')
  }

  /** Whether the workspace exists; a half-made one does not count. */
  hasWorkspace(workspace: string): boolean {
    return existsSync(this.databasePath(workspace)) && !this.isUnfinished(workspace)
  }

  isUnfinished(workspace: string): boolean {
    return existsSync(this.#unfinishedMark(workspace))
  }

  markUnfinished(workspace: string): void {
    this.makeFolder(workspace)
    writeFileSync(this.#unfinishedMark(workspace), '', { mode: 0o600 })
    syncFolder(projectDir(this.path, workspace))
  }

  /**
   * Marks the workspace as complete by removing the file `beginning`. The removal is on disk before anybody is told of the workspace: if the file
   * came back after a power cut, a workspace with acknowledged messages would count as unfinished.
   */
  markFinished(workspace: string): void {
    if (!this.isUnfinished(workspace)) return
    rmSync(this.#unfinishedMark(workspace))
    syncFolder(projectDir(this.path, workspace))
  }

  /** Deletes a half-made workspace, of which nobody was told. */
  deleteUnfinished(workspace: string): void {
    rmSync(projectDir(this.path, workspace), { recursive: true, force: true })
  }

  /** Makes an empty folder in which a workspace is built from a backup. */
  makeRestoreFolder(): string {
    const restoring = join(this.path, restoringFolder)
    mkdirSync(restoring, { recursive: true, mode: 0o700 })
    return mkdtempSync(join(restoring, 'w-'))
  }

  /** Whether a path is a folder that `makeRestoreFolder` has made and `markRestored` has marked as complete. */
  isRestoreFolder(path: string): boolean {
    if (!existsSync(join(path, unfinishedMarkFile))) return false
    return dirname(realpathSync(path)) === join(this.realPath, restoringFolder)
  }

  /** Marks the folder of a workspace from a backup as complete. Once the folder is in its place, the workspace exists as soon as its key is stored. */
  markRestored(folder: string, placed: RestoredKey): void {
    writeFileSync(join(folder, unfinishedMarkFile), JSON.stringify(placed), { mode: 0o600 })
    syncFolder(folder)
  }

  /** Moves a folder to the workspace's place in one step. A half-made workspace in that place is deleted; any other folder is moved into `damaged`. */
  moveIntoPlace(workspace: string, folder: string): void {
    const place = projectDir(this.path, workspace)
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    if (this.isUnfinished(workspace)) this.deleteUnfinished(workspace)
    else if (existsSync(place)) renameSync(place, this.makeDamagedPath(workspace))
    renameSync(folder, place)
    syncFolder(dirname(place))
  }

  /** Returns a free path in `damaged` for a folder with damaged files of the workspace. */
  makeDamagedPath(workspace: string): string {
    const damaged = join(this.path, 'damaged')
    mkdirSync(damaged, { recursive: true, mode: 0o700 })
    return join(mkdtempSync(join(damaged, 'w-')), workspace)
  }

  /**
   * Puts a folder in the place of an existing workspace, which is first moved to the removed workspaces. If this fails, the existing workspace is moved back.
   */
  replaceWorkspace(workspace: string, folder: string): void {
    const aside = this.removeWorkspace(workspace)
    try {
      this.moveIntoPlace(workspace, folder)
    } catch (error) {
      const place = projectDir(this.path, workspace)
      if (aside !== undefined && !existsSync(place)) renameSync(aside, place)
      throw error
    }
  }

  /** Returns the id and key of a workspace from a backup that is in its place but does not count as existing yet, since its key is not stored. */
  restoredKey(workspace: string): RestoredKey | undefined {
    try {
      const text = readFileSync(this.#unfinishedMark(workspace), 'utf8')
      return text === '' ? undefined : JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** The names of half-made workspaces. */
  unfinishedWorkspaces(): string[] {
    const projects = join(this.path, 'projects')
    return existsSync(projects) ? readdirSync(projects).filter((name) => this.isUnfinished(name)) : []
  }

  #unfinishedMark(workspace: string): string {
    return join(projectDir(this.path, workspace), unfinishedMarkFile)
  }

  workspaces(): string[] {
    const projects = join(this.path, 'projects')
    return existsSync(projects) ? readdirSync(projects).filter((name) => this.hasWorkspace(name)) : []
  }

  /**
   * Moves a workspace's folder to the removed workspaces in one step, so that an interrupted removal goes on at the next start. Returns the folder's new path.
   */
  removeWorkspace(workspace: string): string | undefined {
    const removed = join(this.path, removedFolder)
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    const folder = projectDir(this.path, workspace)
    if (!existsSync(folder)) return undefined
    const aside = join(mkdtempSync(join(removed, 'w-')), workspace)
    renameSync(folder, aside)
    return aside
  }

  /** The names of removed workspaces whose files are not deleted yet. */
  removedWorkspaces(): string[] {
    const removed = join(this.path, removedFolder)
    if (!existsSync(removed)) return []
    // Plain files are skipped: desktop programs leave files of their own in any folder.
    const folders = readdirSync(removed, { withFileTypes: true }).filter((each) => each.isDirectory())
    return folders.flatMap(({ name }) => readdirSync(join(removed, name)))
  }

  /** Deletes the files of removed workspaces. */
  deleteRemoved(): void {
    rmSync(join(this.path, removedFolder), { recursive: true, force: true })
  }

  /** Deletes leftovers of an interrupted restore. Must not run during a restore. */
  deleteRestoreFolders(): void {
    rmSync(join(this.path, restoringFolder), { recursive: true, force: true })
  }

  /** Replaces the list of open workspaces in one step: if the disk is full or the process ends, the former list remains. */
  rememberOpen(workspaces: Iterable<string>): void {
    const path = join(this.path, 'open.json')
    writeFileSync(`${path}.tmp`, JSON.stringify([...workspaces]), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  /** Returns the workspaces that were open when the last daemon ended, even those whose database no longer exists. */
  lastOpenWorkspaces(): string[] {
    return this.#namesIn('open.json')
  }

  /** Stores the names of the cluster's workspaces, so that no other workspace gets one of these names while the cluster cannot be asked. */
  rememberSharedNames(names: readonly string[]): void {
    if (names.join() === this.lastSharedNames().join()) return
    const path = join(this.path, 'shared-names.json')
    writeFileSync(`${path}.tmp`, JSON.stringify(names), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  lastSharedNames(): string[] {
    return this.#namesIn('shared-names.json')
  }

  #namesIn(file: string): string[] {
    try {
      const names: unknown = JSON.parse(readFileSync(join(this.path, file), 'utf8'))
      return Array.isArray(names) ? names.filter(isProjectName) : []
    } catch {
      return []
    }
  }
}
