// The workspaces that this data directory has had, and their keys. If the database of one is lost, the workspace is not silently created again.

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

  /** Whether there is a workspace of this name. One whose files are lost counts too; a removed one does not. */
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
   * Opens a workspace. Throws if it is known but its database is missing or faulty. A new workspace is known only after `build` has called `markBegun`: if
   * `build` fails, its files are deleted, and if the process ends first, the next opening starts over.
   */
  async openChecked<T>(name: string, build: (isNew: boolean) => Promise<T>): Promise<T> {
    this.#finishPlacing(name)
    const isKnown = this.has(name)
    const fault = this.faultOf(name, isKnown)
    if (fault) throw fault
    if (isKnown) return build(false)
    // A new workspace that was never finished: nobody was told its key, which is dropped.
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
   * Returns why a database must not be opened: it is missing, lacks stored entries, or belongs to another workspace. Changes no file. `isKnown`: there was a
   * workspace of this name before.
   */
  faultOf(name: string, isKnown = true): RefusalError | undefined {
    const path = this.#directory.databasePath(name)
    const loss = missingDatabaseText(path, isKnown)
    if (loss !== undefined) return lostWorkspaceRefusal(path, loss)
    if (!isKnown) return undefined
    try {
      const { workspace, expected, gap } = checkJournalEnd(path)
      const kept = this.#idsOf(name)
      // The credentials file of this machine may lack the workspace's key. Then the end file tells the workspace's id.
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
      // The credentials file is faulty. The next caller that needs a key from it gets the error.
      return []
    }
  }

  #describe(id: string): string {
    const name = this.#credentials.nameOf(id, this.#directory.realPath)
    return name === undefined ? `workspace ${id}` : `workspace "${name}" (${id})`
  }

  /** Marks a new workspace as complete: its database is whole and its key is stored, so it can be used from now on. */
  markBegun(name: string): void {
    this.#directory.markFinished(name)
  }

  /**
   * Puts a workspace from a backup into its place, from its prepared folder. Refused if there is a workspace of this name, or the same workspace under another
   * name. `isReplaced`: the present workspace of this name is removed afterwards.
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

  /** Completes a workspace that was put into its place: stores its key, then marks it as complete. */
  #finishPlacing(name: string): void {
    const placed = this.#directory.restoredKey(name)
    if (!placed) return
    this.keepKey(placed.id, name, placed.key)
    this.#directory.markFinished(name)
  }

  /** Completes removals and restores that were interrupted when the last daemon ended. */
  finishInterrupted(): void {
    this.finishRemovals()
    this.#directory.deleteRestoreFolders()
    for (const name of this.#directory.unfinishedWorkspaces()) this.#finishPlacing(name)
  }

  /**
   * Stores which workspaces the next start should open. A failed write loses none of them: a key in the credentials file also shows that a workspace exists.
   */
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

  /** Adds the data directory of a workspace to the credentials file, which before version 0.2 did not have it. */
  recordDataDirectory(id: string): void {
    try {
      this.#credentials.recordDataDir(id, this.#directory.realPath)
    } catch {
      // The credentials file cannot be read or written. The workspace opens all the same, and the next caller that needs a key gets the error.
    }
  }

  /**
   * Removes a workspace on purpose: moves its folder away, deletes its key, then its files. If this is interrupted at any point, the workspace does not look
   * lost.
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
      // The key is deleted first: a workspace with a key and without a folder would count as lost.
      this.#forgetKey(name)
      this.#directory.deleteUnfinished(name)
    } catch {
      // The disk is full or faulty: the files that are left are still marked as unfinished.
    }
  }

  #forgetKey(name: string): void {
    this.lastOpenNames.delete(name)
    this.#credentials.remove(name, this.#directory.realPath)
  }
}
