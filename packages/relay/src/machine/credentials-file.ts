// The owner's file of workspace keys. The daemon stores each new key in this file, and the CLI reads it; broker/sessions/credentials.ts makes the keys.

import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readForeignText, UnsafeFileError } from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'
import { syncFile, syncFolder } from './sync.ts'

/** Maximum size of the credentials file, enough for some 10,000 workspaces. */
const credentialsBytesMax = 4 * 1024 * 1024

interface StoredKey {
  name: string
  key: string
  /** The data directory that the workspace lies in; unset in files from before version 0.2. */
  dataDir?: string
}

interface CredentialsContent {
  workspaces: Record<string, StoredKey>
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

  /** Returns the keys of all workspaces of this name: two data directories may share one credentials file, and each may have a workspace of the name. */
  keysNamed(name: string): string[] {
    const all = Object.values(this.#read().workspaces)
    return all.filter((workspace) => workspace.name === name).map(({ key }) => key)
  }

  /** Returns the names of all workspaces in this data directory that have a key here and were not removed. */
  namesIn(dataDir: string): string[] {
    return Object.values(this.#read().workspaces).flatMap((kept) => (isIn(kept, dataDir) ? kept.name : []))
  }

  /** Returns the workspace of this name in this data directory; undefined if the file has no such workspace, or more than one. */
  onlyOf(name: string, dataDir: string): { id: string; key: string } | undefined {
    const all = Object.entries(this.#read().workspaces).filter(
      ([, kept]) => kept.name === name && kept.dataDir === dataDir,
    )
    const [only, ...others] = all
    return only && others.length === 0 ? { id: only[0], key: only[1].key } : undefined
  }

  /** Returns the ids of all workspaces that had this name in this data directory. */
  idsOf(name: string, dataDir: string): string[] {
    const all = Object.entries(this.#read().workspaces)
    return all.flatMap(([id, kept]) => (kept.name === name && kept.dataDir === dataDir ? id : []))
  }

  /** Returns the name under which this data directory has the workspace; undefined if it does not have it. */
  nameOf(workspaceId: string, dataDir: string): string | undefined {
    const kept = this.#read().workspaces[workspaceId]
    return kept && isIn(kept, dataDir) ? kept.name : undefined
  }

  /** Finds another data directory that has this workspace under another key; undefined if none does. Storing our key would overwrite that key. */
  otherDataDirectory(workspaceId: string, key: string, dataDir: string): { dataDir: string; name: string } | undefined {
    const kept = this.#read().workspaces[workspaceId]
    if (kept?.dataDir === undefined || isIn(kept, dataDir) || kept.key === key) return undefined
    return { dataDir: kept.dataDir, name: kept.name }
  }

  put(workspaceId: string, kept: Required<StoredKey>): void {
    const content = this.#read()
    content.workspaces[workspaceId] = kept
    this.#write(content)
  }

  /** Stores the data directory of a workspace, if the file does not name one yet. */
  recordDataDir(workspaceId: string, dataDir: string): void {
    const content = this.#read()
    const kept = content.workspaces[workspaceId]
    if (!kept || kept.dataDir !== undefined) return
    content.workspaces[workspaceId] = { ...kept, dataDir }
    this.#write(content)
  }

  /** Removes all keys of this name in this data directory, even those of workspaces whose id can no longer be read. */
  remove(name: string, dataDir: string): void {
    const content = this.#read()
    const before = Object.entries(content.workspaces)
    const after = before.filter(([, kept]) => kept.name !== name || !isIn(kept, dataDir))
    if (after.length < before.length) this.#write({ ...content, workspaces: Object.fromEntries(after) })
  }

  #write(content: CredentialsContent): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const draft = `${this.path}.${process.pid}.tmp`
    writeFileSync(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    chmodSync(draft, 0o600)
    // A key is on disk before its workspace accepts it: otherwise, after a power cut, the workspace could require a key that its owner does not have.
    syncFile(draft)
    renameSync(draft, this.path)
    syncFolder(dirname(this.path))
  }

  /**
   * Reads the file, or throws an error that names it: a file that is not in our format is not ours to overwrite. The file is read with the checks for foreign
   * files, since a repository's `.relay/config.json` can name the socket beside which a credentials file is looked for.
   */
  #read(): CredentialsContent {
    let text: string | undefined
    try {
      text = readForeignText(this.path, { bytesMax: credentialsBytesMax, mayBeLink: true })
    } catch (error) {
      if (!(error instanceof UnsafeFileError)) throw error
      throw new RefusalError('config.invalid', { path: this.path, why: error.why })
    }
    if (text === undefined) return { workspaces: withoutPrototype({}) }
    try {
      const content = JSON.parse(text) as Partial<CredentialsContent>
      return { ...content, workspaces: withoutPrototype(content.workspaces ?? {}) }
    } catch {
      throw new RefusalError('config.invalid', { path: this.path, why: 'not valid JSON' })
    }
  }
}

/** Copies the table without a prototype, so that no workspace id finds an inherited property. */
function withoutPrototype(workspaces: Record<string, StoredKey>): Record<string, StoredKey> {
  return Object.assign(Object.create(null), workspaces)
}

/** Whether the workspace lies in this data directory. If the file does not say, the answer is yes: better to ask the owner than to replace a lost workspace. */
function isIn({ dataDir }: StoredKey, directory: string): boolean {
  return dataDir === undefined || dataDir === directory
}
