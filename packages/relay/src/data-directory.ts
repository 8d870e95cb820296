// The daemon's directory on disk: where each workspace lies, which there are, and which were open when the last daemon ended.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { isProjectName, projectDir } from '@agent-relay/sdk/discover'

const removedFolder = 'removed'

export class DataDirectory {
  readonly path: string

  constructor(path: string) {
    this.path = path
    mkdirSync(path, { recursive: true, mode: 0o700 })
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

  has(workspace: string): boolean {
    return existsSync(this.database(workspace))
  }

  workspaces(): string[] {
    const projects = join(this.path, 'projects')
    return existsSync(projects) ? readdirSync(projects).filter((name) => this.has(name)) : []
  }

  /** In one step out of the place where workspaces are looked for: what a removal that was cut off leaves is taken for none. */
  remove(workspace: string): void {
    const removed = join(this.path, removedFolder)
    mkdirSync(removed, { recursive: true, mode: 0o700 })
    renameSync(projectDir(this.path, workspace), join(mkdtempSync(join(removed, 'w-')), workspace))
    this.sweep()
  }

  /** What a removal left. */
  sweep(): void {
    rmSync(join(this.path, removedFolder), { recursive: true, force: true })
  }

  rememberOpen(workspaces: Iterable<string>): void {
    writeFileSync(join(this.path, 'open.json'), JSON.stringify([...workspaces]), { mode: 0o600 })
  }

  lastOpen(): string[] {
    try {
      const names: unknown = JSON.parse(readFileSync(join(this.path, 'open.json'), 'utf8'))
      return Array.isArray(names) ? names.filter((name) => isProjectName(name) && this.has(name)) : []
    } catch {
      return []
    }
  }
}
