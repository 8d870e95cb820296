// The daemon's directory on disk: where each workspace lies, which there are, and which were open when the last daemon ended.

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isProjectName, projectDir } from '@agent-relay/sdk/discover'

const removedFolder = 'removed'

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
