// The owner's file of workspace keys. The daemon puts each new key there, the CLI reads it; how keys are made is broker/credentials.ts's affair.

import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { RefusalError } from './refusal-error.ts'

interface CredentialsContent {
  workspaces: Record<string, { name: string; key: string }>
}

/** The keys of the owner's workspaces, by workspace id; readable by the owner alone. */
export class CredentialsFile {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  keyOf(workspaceId: string): string | undefined {
    return this.#read().workspaces[workspaceId]?.key
  }

  /** Of all workspaces that have this name: two data directories may share one file. */
  keysNamed(name: string): string[] {
    const all = Object.values(this.#read().workspaces)
    return all.filter((workspace) => workspace.name === name).map(({ key }) => key)
  }

  put(workspaceId: string, name: string, key: string): void {
    const content = this.#read()
    content.workspaces[workspaceId] = { name, key }
    this.#write(content)
  }

  remove(workspaceId: string): void {
    const content = this.#read()
    if (!Object.hasOwn(content.workspaces, workspaceId)) return
    delete content.workspaces[workspaceId]
    this.#write(content)
  }

  #write(content: CredentialsContent): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const draft = `${this.path}.${process.pid}.tmp`
    writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    chmodSync(draft, 0o600)
    renameSync(draft, this.path)
  }

  /** A file that cannot be read as ours is not ours to overwrite: the error names it. */
  #read(): CredentialsContent {
    let text: string
    try {
      text = readFileSync(this.path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { workspaces: {} }
      throw error
    }
    try {
      const content = JSON.parse(text) as Partial<CredentialsContent>
      return { ...content, workspaces: { ...content.workspaces } }
    } catch {
      throw new RefusalError('config.invalid', { path: this.path, why: 'not valid JSON' })
    }
  }
}
