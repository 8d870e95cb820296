// The workspaces that this data directory has had, and their keys. A workspace whose database is gone is not created again.

import { join } from 'node:path'
import { projectDir } from '@agent-relay/sdk/internal/discover'
import { RefusalError } from '../core/refusal-error.ts'
import type { CredentialsFile } from '../machine/credentials-file.ts'
import type { DataDirectory, PlacedKey } from '../machine/data-directory.ts'
import { cut, fileFaultOf, lossOf, lost, swapped } from '../store/damage.ts'
import { lookAtEnd } from '../store/journal-end.ts'

export class KnownWorkspaces {
  readonly #credentials: CredentialsFile
  readonly #directory: DataDirectory
  /** Workspaces that were open when the last daemon ended. */
  readonly remembered: Set<string>

  constructor(credentials: CredentialsFile, directory: DataDirectory) {
    this.#credentials = credentials
    this.#directory = directory
    this.remembered = new Set(directory.lastOpen())
  }

  /** Whether there is a workspace of this name, or was one that nobody has removed. */
  has(name: string): boolean {
    if (this.#directory.isBeginning(name)) return false
    if (this.#directory.has(name) || this.remembered.has(name)) return true
    return this.#credentials.namesIn(this.#directory.realPath).includes(name)
  }

  /** The names of all workspaces, lost ones included. */
  names(): string[] {
    const { realPath } = this.#directory
    const names = [...this.#directory.workspaces(), ...this.remembered, ...this.#credentials.namesIn(realPath)]
    return [...new Set(names)].filter((name) => !this.#directory.isBeginning(name)).sort()
  }

  /**
   * Opens a workspace. Throws if its database should exist and does not. A new workspace counts as known only once `build` has called `begun`. If the
   * process ends before that, the next opening finishes what it left; if `build` fails, its files are removed.
   */
  async opening<T>(name: string, build: (isNew: boolean) => Promise<T>): Promise<T> {
    this.#finishPlacing(name)
    const isKnown = this.has(name)
    const fault = this.faultOf(name, isKnown)
    if (fault) throw fault
    if (isKnown) return build(false)
    // Nobody was ever told the key of an unfinished beginning.
    if (this.#directory.isBeginning(name)) this.#forget(name)
    try {
      this.#directory.begin(name)
      return await build(true)
    } catch (error) {
      this.#abandon(name)
      throw error
    }
  }

  /**
   * Why a database must not be opened: it is missing, lacks entries that were stored, or belongs to another workspace. The files stay as they are.
   * `isKnown`: there was a workspace of this name before.
   */
  faultOf(name: string, isKnown = true): RefusalError | undefined {
    const path = this.#directory.database(name)
    const loss = lossOf(path, isKnown)
    if (loss !== undefined) return lost(path, loss)
    if (!isKnown) return undefined
    try {
      const { workspace, expected, gap } = lookAtEnd(path)
      const kept = this.#idsOf(name)
      // The key may be kept on another machine only.
      const own = kept.length === 0 && expected ? [expected.workspace] : kept
      const isAnother = workspace !== undefined && own.length > 0 && !own.includes(workspace)
      if (isAnother) return swapped(path, this.#told(workspace), own.map((id) => this.#told(id)).join(' or '))
      return gap && cut(path, gap)
    } catch (error) {
      if (fileFaultOf(error)) return error as RefusalError
      throw error
    }
  }

  #idsOf(name: string): string[] {
    try {
      return this.#credentials.idsOf(name, this.#directory.realPath)
    } catch {
      // Whoever needs a key from that file is told what is wrong with it.
      return []
    }
  }

  #told(id: string): string {
    const name = this.#credentials.nameOf(id, this.#directory.realPath)
    return name === undefined ? `workspace ${id}` : `workspace "${name}" (${id})`
  }

  /** Marks a new workspace as complete, with its database whole and its key kept: from now on it may answer. */
  begun(name: string): void {
    this.#directory.begun(name)
  }

  /**
   * Puts a workspace from a backup into its place, from a folder that was prepared for it. Refused if there is one of this name, or the same workspace
   * under another name. `isReplaced`: the present one of this name is removed once the new one is in its place.
   */
  placeRestored(name: string, folder: string, placed: PlacedKey, isReplaced = false): void {
    this.#mustBeFree(name, placed, isReplaced)
    this.#directory.markPlaced(folder, placed)
    if (isReplaced) this.#directory.replace(name, folder)
    else this.#directory.place(name, folder)
    if (isReplaced) this.finishRemovals()
    this.#finishPlacing(name)
  }

  #mustBeFree(name: string, { id, key }: PlacedKey, isReplaced: boolean): void {
    const { realPath } = this.#directory
    const other = this.#credentials.nameOf(id, realPath)
    for (const workspace of new Set([name, other ?? name]))
      if (this.#directory.has(workspace) && !(isReplaced && workspace === name))
        throw new RefusalError('workspace.exists', { workspace, path: this.#directory.database(workspace) })
    const elsewhere = this.#credentials.otherPlace(id, key, realPath)
    if (elsewhere)
      throw new RefusalError('workspace.exists', {
        workspace: elsewhere.name,
        path: join(projectDir(elsewhere.dataDir, elsewhere.name), 'relay.db'),
      })
  }

  /** Finishes a placing: the key is kept first, then the workspace counts. */
  #finishPlacing(name: string): void {
    const placed = this.#directory.placedKey(name)
    if (!placed) return
    this.keep(placed.id, name, placed.key)
    this.#directory.begun(name)
  }

  /** Finishes whatever was interrupted when the last daemon ended. */
  finish(): void {
    this.finishRemovals()
    this.#directory.sweepNewFolders()
    for (const name of this.#directory.beginnings()) this.#finishPlacing(name)
  }

  /** Stores which workspaces the next start opens. If that cannot be written they stay open: their keys tell that they were here. */
  serve(names: string[], onTrouble: (error: Error) => void): void {
    try {
      this.#directory.rememberOpen(names)
    } catch (error) {
      onTrouble(error as Error)
    }
  }

  keyOf(id: string): string | undefined {
    return this.#credentials.keyOf(id)
  }

  keep(id: string, name: string, key: string): void {
    this.#credentials.put(id, { name, key, dataDir: this.#directory.realPath })
  }

  /** Stores where a workspace lies, which files from before version 0.2 do not say. */
  place(id: string): void {
    try {
      this.#credentials.place(id, this.#directory.realPath)
    } catch {
      // If the file cannot be read or written the workspace still opens: whoever needs a key from it is told.
    }
  }

  /**
   * Removes a workspace on purpose: its folder is moved away, then its key is forgotten, then the files are deleted. So no interruption can look like a
   * loss.
   */
  remove(name: string): void {
    this.#directory.remove(name)
    this.finishRemovals()
    this.#forget(name)
  }

  finishRemovals(): void {
    for (const name of this.#directory.removed()) if (!this.#directory.has(name)) this.#forget(name)
    this.#directory.sweep()
  }

  #abandon(name: string): void {
    try {
      // The key goes first: without its folder the workspace would count as lost.
      this.#forget(name)
      this.#directory.abandon(name)
    } catch {
      // The disk is full or fails: the remaining files still say that the workspace was only being begun.
    }
  }

  #forget(name: string): void {
    this.remembered.delete(name)
    this.#credentials.remove(name, this.#directory.realPath)
  }
}
