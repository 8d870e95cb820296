// The workspaces that this data directory has had, and their keys. A workspace whose database is gone is not created again.

import { join } from 'node:path'
import { projectDir } from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'
import type { CredentialsFile } from '../machine/credentials-file.ts'
import type { DataDirectory, RestoredKey } from '../machine/data-directory.ts'
import {
  fileRefusalOf,
  lostWorkspaceRefusal,
  missingDatabaseText,
  missingEntriesRefusal,
  otherWorkspaceRefusal,
} from '../store/damage.ts'
import { checkJournalEnd } from '../store/journal-end.ts'

export class KnownWorkspaces {
  readonly #credentials: CredentialsFile
  readonly #directory: DataDirectory
  /** Workspaces that were open when the last daemon ended. */
  readonly lastOpenNames: Set<string>

  constructor(credentials: CredentialsFile, directory: DataDirectory) {
    this.#credentials = credentials
    this.#directory = directory
    this.lastOpenNames = new Set(directory.lastOpenWorkspaces())
  }

  /** Whether there is a workspace of this name, or was one that nobody has removed. */
  has(name: string): boolean {
    if (this.#directory.isUnfinished(name)) return false
    if (this.#directory.hasWorkspace(name) || this.lastOpenNames.has(name)) return true
    return this.#credentials.namesIn(this.#directory.realPath).includes(name)
  }

  /** The names of all workspaces, lost ones included. */
  names(): string[] {
    const { realPath } = this.#directory
    const names = [...this.#directory.workspaces(), ...this.lastOpenNames, ...this.#credentials.namesIn(realPath)]
    return [...new Set(names)].filter((name) => !this.#directory.isUnfinished(name)).sort()
  }

  /**
   * Opens a workspace. Throws if its database should exist and does not. A new workspace counts as known only after `build` has called `markBegun`. If the
   * process ends before that, the next opening finishes what it left; if `build` fails, its files are removed.
   */
  async openChecked<T>(name: string, build: (isNew: boolean) => Promise<T>): Promise<T> {
    this.#finishPlacing(name)
    const isKnown = this.has(name)
    const fault = this.faultOf(name, isKnown)
    if (fault) throw fault
    if (isKnown) return build(false)
    // Nobody was ever told the key of an unfinished beginning.
    if (this.#directory.isUnfinished(name)) this.#forgetKey(name)
    try {
      this.#directory.markUnfinished(name)
      return await build(true)
    } catch (error) {
      this.#removeUnfinished(name)
      throw error
    }
  }

  /**
   * Returns why a database must not be opened: it is missing, lacks stored entries, or belongs to another workspace. The files stay as they are.
   * `isKnown`: there was a workspace of this name before.
   */
  faultOf(name: string, isKnown = true): RefusalError | undefined {
    const path = this.#directory.databasePath(name)
    const loss = missingDatabaseText(path, isKnown)
    if (loss !== undefined) return lostWorkspaceRefusal(path, loss)
    if (!isKnown) return undefined
    try {
      const { workspace, expected, gap } = checkJournalEnd(path)
      const kept = this.#idsOf(name)
      // The workspace's key may be kept on another machine only.
      const own = kept.length === 0 && expected ? [expected.workspace] : kept
      const isAnother = workspace !== undefined && own.length > 0 && !own.includes(workspace)
      if (isAnother)
        return otherWorkspaceRefusal(path, this.#describe(workspace), own.map((id) => this.#describe(id)).join(' or '))
      return gap && missingEntriesRefusal(path, gap)
    } catch (error) {
      if (fileRefusalOf(error)) return error as RefusalError
      throw error
    }
  }

  #idsOf(name: string): string[] {
    try {
      return this.#credentials.idsOf(name, this.#directory.realPath)
    } catch {
      // The credentials file is faulty; the next caller that needs a key from the file is told the fault.
      return []
    }
  }

  #describe(id: string): string {
    const name = this.#credentials.nameOf(id, this.#directory.realPath)
    return name === undefined ? `workspace ${id}` : `workspace "${name}" (${id})`
  }

  /** Marks a new workspace as complete, with its database whole and its key kept: from now on it may answer. */
  markBegun(name: string): void {
    this.#directory.markFinished(name)
  }

  /**
   * Puts a workspace from a backup into its place, from a folder that was prepared for it. Refused if there is one of this name, or the same workspace
   * under another name. `isReplaced`: the present one of this name is removed once the new one is in its place.
   */
  placeRestored(name: string, folder: string, placed: RestoredKey, isReplaced = false): void {
    this.#assertFree(name, placed, isReplaced)
    this.#directory.markRestored(folder, placed)
    if (isReplaced) this.#directory.replaceWorkspace(name, folder)
    else this.#directory.moveIntoPlace(name, folder)
    if (isReplaced) this.finishRemovals()
    this.#finishPlacing(name)
  }

  #assertFree(name: string, { id, key }: RestoredKey, isReplaced: boolean): void {
    const { realPath } = this.#directory
    const other = this.#credentials.nameOf(id, realPath)
    for (const workspace of new Set([name, other ?? name]))
      if (this.#directory.hasWorkspace(workspace) && !(isReplaced && workspace === name))
        throw new RefusalError('workspace.exists', { workspace, path: this.#directory.databasePath(workspace) })
    const elsewhere = this.#credentials.otherDataDirectory(id, key, realPath)
    if (elsewhere)
      throw new RefusalError('workspace.exists', {
        workspace: elsewhere.name,
        path: join(projectDir(elsewhere.dataDir, elsewhere.name), 'relay.db'),
      })
  }

  /** Finishes placing a workspace: stores its key first, then marks the workspace as complete. */
  #finishPlacing(name: string): void {
    const placed = this.#directory.restoredKey(name)
    if (!placed) return
    this.keepKey(placed.id, name, placed.key)
    this.#directory.markFinished(name)
  }

  /** Finishes whatever was interrupted when the last daemon ended. */
  finishInterrupted(): void {
    this.finishRemovals()
    this.#directory.deleteRestoreFolders()
    for (const name of this.#directory.unfinishedWorkspaces()) this.#finishPlacing(name)
  }

  /** Stores which workspaces the next start opens. A failed write closes none of them: their keys still show that they were here. */
  rememberOpen(names: string[], onTrouble: (error: Error) => void): void {
    try {
      this.#directory.rememberOpen(names)
    } catch (error) {
      onTrouble(error as Error)
    }
  }

  keyOf(id: string): string | undefined {
    return this.#credentials.keyOf(id)
  }

  keepKey(id: string, name: string, key: string): void {
    this.#credentials.put(id, { name, key, dataDir: this.#directory.realPath })
  }

  /** Stores the data directory of a workspace, which credentials files from before version 0.2 do not contain. */
  recordDataDirectory(id: string): void {
    try {
      this.#credentials.recordDataDir(id, this.#directory.realPath)
    } catch {
      // The credentials file cannot be read or written. The workspace still opens; the next caller that needs a key is told.
    }
  }

  /**
   * Removes a workspace on purpose: its folder is moved away, then its key is forgotten, then the files are deleted. So no interruption can look like a
   * loss.
   */
  remove(name: string): void {
    this.#directory.removeWorkspace(name)
    this.finishRemovals()
    this.#forgetKey(name)
  }

  finishRemovals(): void {
    for (const name of this.#directory.removedWorkspaces())
      if (!this.#directory.hasWorkspace(name)) this.#forgetKey(name)
    this.#directory.deleteRemoved()
  }

  #removeUnfinished(name: string): void {
    try {
      // The key is forgotten first: a workspace with a key and without a folder would count as lost.
      this.#forgetKey(name)
      this.#directory.deleteUnfinished(name)
    } catch {
      // The disk is full or fails: the remaining files still say that the workspace was only being begun.
    }
  }

  #forgetKey(name: string): void {
    this.lastOpenNames.delete(name)
    this.#credentials.remove(name, this.#directory.realPath)
  }
}
