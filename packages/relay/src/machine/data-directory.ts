// The daemon's directory on disk: where each workspace lies, which there are, and which were open when the last daemon ended.

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
/** Lies beside a database from before it is made until it is whole and its key is kept: nobody has been told anything before that. */
const beginningFile = 'beginning'

/** Why it cannot be one, or cannot be made; undefined where it can. Nothing is changed. */
export function dataDirectoryFault(path: string): string | undefined {
  // What is to be made is made in the nearest directory that is there.
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

/** Of a workspace from a backup. */
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

  /** The same by whatever path it was reached. */
  get realPath(): string {
    return realpathSync(this.path)
  }

  /** Made if it is new. */
  make(workspace: string): string {
    const directory = projectDir(this.path, workspace)
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    return directory
  }

  database(workspace: string): string {
    return join(projectDir(this.path, workspace), 'relay.db')
  }

  /** What is only half made does not count. */
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

  /** On the disk before anybody is told anything: after a power cut it must not come back beside what was acknowledged. */
  begun(workspace: string): void {
    if (!this.isBeginning(workspace)) return
    rmSync(this.#beginning(workspace))
    syncFolder(projectDir(this.path, workspace))
  }

  /** What was half made, of which nobody was told. */
  abandon(workspace: string): void {
    rmSync(projectDir(this.path, workspace), { recursive: true, force: true })
  }

  /** An empty one in which a workspace from a backup is made. */
  newFolder(): string {
    const restoring = join(this.path, restoringFolder)
    mkdirSync(restoring, { recursive: true, mode: 0o700 })
    return mkdtempSync(join(restoring, 'w-'))
  }

  /** Is it one of those? */
  isNewFolder(path: string): boolean {
    if (!existsSync(join(path, beginningFile))) return false
    return dirname(realpathSync(path)) === join(this.realPath, restoringFolder)
  }

  /** The folder of a workspace from a backup is whole: in its place it counts once its key is kept. */
  markPlaced(folder: string, placed: PlacedKey): void {
    writeFileSync(join(folder, beginningFile), JSON.stringify(placed), { mode: 0o600 })
    syncFolder(folder)
  }

  /** In one step. What lies there without a database is put beside, into `damaged`. */
  place(workspace: string, folder: string): void {
    const place = projectDir(this.path, workspace)
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 })
    if (this.isBeginning(workspace)) this.abandon(workspace)
    else if (existsSync(place)) renameSync(place, this.damagedPlace(workspace))
    renameSync(folder, place)
    syncFolder(dirname(place))
  }

  /** Where a folder with damaged files of it can be put: nothing is there. */
  damagedPlace(workspace: string): string {
    const damaged = join(this.path, 'damaged')
    mkdirSync(damaged, { recursive: true, mode: 0o700 })
    return join(mkdtempSync(join(damaged, 'w-')), workspace)
  }

  /** The one that is there is put aside first, where removed ones lie, and back if the new one does not get there. */
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

  /** The key of one that has taken its place and does not count yet. */
  placedKey(workspace: string): PlacedKey | undefined {
    try {
      const text = readFileSync(this.#beginning(workspace), 'utf8')
      return text === '' ? undefined : JSON.parse(text)
    } catch {
      return undefined
    }
  }

  /** Those that are half made. */
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

  /** In one step out of the place where workspaces are looked for: a removal that is cut off after it goes on at the next start. Answers where it lies now. */
  remove(workspace: string): string | undefined {
    const removed = join(this.path, removedFolder)
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    const folder = projectDir(this.path, workspace)
    if (!existsSync(folder)) return undefined
    const aside = join(mkdtempSync(join(removed, 'w-')), workspace)
    renameSync(folder, aside)
    return aside
  }

  /** The names of those that were taken out and are not swept yet. */
  removed(): string[] {
    const removed = join(this.path, removedFolder)
    return existsSync(removed) ? readdirSync(removed).flatMap((folder) => readdirSync(join(removed, folder))) : []
  }

  /** What a removal left. */
  sweep(): void {
    rmSync(join(this.path, removedFolder), { recursive: true, force: true })
  }

  /** What restoring left that was cut off. Not while somebody restores. */
  sweepNewFolders(): void {
    rmSync(join(this.path, restoringFolder), { recursive: true, force: true })
  }

  /** In one step: a full disk or the end of the process leaves the former list. */
  rememberOpen(workspaces: Iterable<string>): void {
    const path = join(this.path, 'open.json')
    writeFileSync(`${path}.tmp`, JSON.stringify([...workspaces]), { mode: 0o600 })
    renameSync(`${path}.tmp`, path)
  }

  /** Also those whose database is gone by now. */
  lastOpen(): string[] {
    return this.#namesIn('open.json')
  }

  /** The names that shared workspaces of the cluster have: no other workspace gets one of them while the cluster cannot be asked. */
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
