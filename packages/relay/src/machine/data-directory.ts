// The daemon's directory on disk: the folder of each workspace, which workspaces there are, and which were open when the last daemon ended.

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
/** Workspaces from a backup are made whole here before they take their places. */
const restoringFolder = 'restoring'
/** Marks a database as unfinished, from before it is made until it is whole and its key is kept. Before that nobody has been told anything. */
const beginningFile = 'beginning'

/** Why the path cannot be a data directory, or cannot be made one; undefined if it can. Nothing is changed. */
export function dataDirectoryFault(path: string): string | undefined {
  // A new directory is made in the nearest one that exists.
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

/** The HTTP port that a daemon took because the usual one was not free. */
export function keptPort(dataDir: string): number | undefined {
  try {
    const port = Number(readFileSync(join(dataDir, portFile), 'utf8'))
    return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined
  } catch {
    return undefined
  }
}

export function keepPort(dataDir: string, port: number): void {
  writeFileSync(join(dataDir, portFile), `${port}\n`, { mode: 0o600 })
}

/** The id and key of a workspace from a backup. */
export interface PlacedKey {
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

  /** The directory's path without links, the same by whatever path it was reached. */
  get realPath(): string {
    return realpathSync(this.path)
  }

  /** The folder of a workspace, which is made if it is new. */
  make(workspace: string): string {
    const directory = projectDir(this.path, workspace)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return directory
  }

  database(workspace: string): string {
    return join(projectDir(this.path, workspace), 'relay.db')
  }

  /** Whether the workspace exists; a half-made one does not count. */
  has(workspace: string): boolean {
    return existsSync(this.database(workspace)) && !this.isBeginning(workspace)
  }

  isBeginning(workspace: string): boolean {
    return existsSync(this.#beginning(workspace))
  }

  begin(workspace: string): void {
    this.make(workspace)
    writeFileSync(this.#beginning(workspace), '', { mode: 0o600 })
    syncFolder(projectDir(this.path, workspace))
  }

  /**
   * Marks the workspace as complete, on disk before anybody is told anything: after a power cut the mark of a beginning must not come back beside
   * acknowledged messages.
   */
  begun(workspace: string): void {
    if (!this.isBeginning(workspace)) return
    rmSync(this.#beginning(workspace))
    syncFolder(projectDir(this.path, workspace))
  }

  /** Deletes a half-made workspace, of which nobody was told. */
  abandon(workspace: string): void {
    rmSync(projectDir(this.path, workspace), { recursive: true, force: true })
  }

  /** Makes an empty folder in which a workspace from a backup is made. */
  newFolder(): string {
    const restoring = join(this.path, restoringFolder)
    mkdirSync(restoring, { recursive: true, mode: 0o700 })
    return mkdtempSync(join(restoring, 'w-'))
  }

  /** Whether a path is a folder that `newFolder` has made. */
  isNewFolder(path: string): boolean {
    if (!existsSync(join(path, beginningFile))) return false
    return dirname(realpathSync(path)) === join(this.realPath, restoringFolder)
  }

  /** Marks the folder of a workspace from a backup as whole: in its place it counts once its key is kept. */
  markPlaced(folder: string, placed: PlacedKey): void {
    writeFileSync(join(folder, beginningFile), JSON.stringify(placed), { mode: 0o600 })
    syncFolder(folder)
  }

  /** Moves the folder to the workspace's place in one step. A folder without a database that lies there is moved into `damaged`. */
  place(workspace: string, folder: string): void {
    const place = projectDir(this.path, workspace)
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    if (this.isBeginning(workspace)) this.abandon(workspace)
    else if (existsSync(place)) renameSync(place, this.damagedPlace(workspace))
    renameSync(folder, place)
    syncFolder(dirname(place))
  }

  /** A free path for a folder with damaged files of the workspace. */
  damagedPlace(workspace: string): string {
    const damaged = join(this.path, 'damaged')
    mkdirSync(damaged, { recursive: true, mode: 0o700 })
    return join(mkdtempSync(join(damaged, 'w-')), workspace)
  }

  /** Places a folder where a workspace lies: the present one is first moved to the removed ones, and back if the placing fails. */
  replace(workspace: string, folder: string): void {
    const aside = this.remove(workspace)
    try {
      this.place(workspace, folder)
    } catch (error) {
      const place = projectDir(this.path, workspace)
      if (aside !== undefined && !existsSync(place)) renameSync(aside, place)
      throw error
    }
  }

  /** The id and key of a workspace that has taken its place and does not count yet. */
  placedKey(workspace: string): PlacedKey | undefined {
    try {
      const text = readFileSync(this.#beginning(workspace), 'utf8')
      return text === '' ? undefined : JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** The names of half-made workspaces. */
  beginnings(): string[] {
    const projects = join(this.path, 'projects')
    return existsSync(projects) ? readdirSync(projects).filter((name) => this.isBeginning(name)) : []
  }

  #beginning(workspace: string): string {
    return join(projectDir(this.path, workspace), beginningFile)
  }

  workspaces(): string[] {
    const projects = join(this.path, 'projects')
    return existsSync(projects) ? readdirSync(projects).filter((name) => this.has(name)) : []
  }

  /**
   * Moves a workspace away in one step, out of the folder where workspaces are looked for: a removal that is cut off afterwards goes on at the next
   * start. Returns where the folder lies now.
   */
  remove(workspace: string): string | undefined {
    const removed = join(this.path, removedFolder)
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    const folder = projectDir(this.path, workspace)
    if (!existsSync(folder)) return undefined
    const aside = join(mkdtempSync(join(removed, 'w-')), workspace)
    renameSync(folder, aside)
    return aside
  }

  /** The names of removed workspaces whose files are not deleted yet. */
  removed(): string[] {
    const removed = join(this.path, removedFolder)
    if (!existsSync(removed)) return []
    // Programs of the desktop leave files of their own in any folder.
    const folders = readdirSync(removed, { withFileTypes: true }).filter((each) => each.isDirectory())
    return folders.flatMap(({ name }) => readdirSync(join(removed, name)))
  }

  /** Deletes the files of removed workspaces. */
  sweep(): void {
    rmSync(join(this.path, removedFolder), { recursive: true, force: true })
  }

  /** Deletes leftovers of an interrupted restore. Must not run during a restore. */
  sweepNewFolders(): void {
    rmSync(join(this.path, restoringFolder), { recursive: true, force: true })
  }

  /** Replaces the list in one step: after a full disk or the end of the process the former list remains. */
  rememberOpen(workspaces: Iterable<string>): void {
    const path = join(this.path, 'open.json')
    writeFileSync(`${path}.tmp`, JSON.stringify([...workspaces]), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  /** The workspaces that were open last, even those whose database is gone by now. */
  lastOpen(): string[] {
    return this.#namesIn('open.json')
  }

  /** Stores the names of the cluster's workspaces: while the cluster cannot be asked, no other workspace gets one of them. */
  rememberShared(names: readonly string[]): void {
    if (names.join() === this.lastShared().join()) return
    const path = join(this.path, 'shared-names.json')
    writeFileSync(`${path}.tmp`, JSON.stringify(names), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  lastShared(): string[] {
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
