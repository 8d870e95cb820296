// Which workspaces this data directory has had, and their keys. One whose database is gone is not created again.

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
  /** Open when the last daemon ended. */
  readonly remembered: Set<string>

  constructor(credentials: CredentialsFile, directory: DataDirectory) {
    this.#credentials = credentials
    this.#directory = directory
    this.remembered = new Set(directory.lastOpen())
  }

  /** There is one of this name, or there was and nobody has removed it. */
  has(name: string): boolean {
    if (this.#directory.isBeginning(name)) return false
    if (this.#directory.has(name) || this.remembered.has(name)) return true
    return this.#credentials.namesIn(this.#directory.realPath).includes(name)
  }

  /** All of them, also those that are lost. */
  names(): string[] {
    const { realPath } = this.#directory
    const names = [...this.#directory.workspaces(), ...this.remembered, ...this.#credentials.namesIn(realPath)]
    return [...new Set(names)].filter((name) => !this.#directory.isBeginning(name)).sort()
  }

  /**
   * Throws where its database has to be there and is not. One that is new is known only once `build` has said that it is `begun`: what the end
   * of the process leaves of it before that is finished by the next who asks for it, and what a failure leaves is removed.
   */
  async opening<T>(name: string, build: (isNew: boolean) => Promise<T>): Promise<T> {
    this.#finishPlacing(name)
    const isKnown = this.has(name)
    const fault = this.faultOf(name, isKnown)
    if (fault) throw fault
    if (isKnown) return build(false)
    // The key that an unfinished beginning kept was never told to anybody.
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
   * Why its database must not be opened: it is missing, it lacks what was stored, or it is another workspace's. The files stay as they are.
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
      // A key may be kept on another machine alone.
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

  /** Its database is whole and its key is kept: from now on it may answer. */
  begun(name: string): void {
    this.#directory.begun(name)
  }

  /**
   * A workspace from a backup, in a folder that was prepared for it. Refused where there is one of this name, or the same one under another.
   * `isReplaced`: the one of this name gives way, once the new one is in its place.
   */
  takeIn(name: string, folder: string, placed: PlacedKey, isReplaced = false): void {
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

  /** Its key is kept, then it counts. */
  #finishPlacing(name: string): void {
    const placed = this.#directory.placedKey(name)
    if (!placed) return
    this.keep(placed.id, name, placed.key)
    this.#directory.begun(name)
  }

  /** What was cut off when the last daemon ended. */
  finish(): void {
    this.finishRemovals()
    this.#directory.sweepNewFolders()
    for (const name of this.#directory.beginnings()) this.#finishPlacing(name)
  }

  /** They are opened again at the next start. That this cannot be written is no reason to close them: their keys tell that they were here. */
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

  /** Files of before version 0.2 do not say where a workspace lies. */
  place(id: string): void {
    try {
      this.#credentials.place(id, this.#directory.realPath)
    } catch {
      // A file that cannot be read or written is no reason to keep a workspace closed: who needs a key from it is told.
    }
  }

  /** It was removed on purpose: out of its place, then forgotten, then swept, so that none of these can be cut off and taken for a loss. */
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
      // First its key: without its folder it would be taken for one that was lost.
      this.#forget(name)
      this.#directory.abandon(name)
    } catch {
      // The disk is full or fails: what is left still says that it was only being begun.
    }
  }

  #forget(name: string): void {
    this.remembered.delete(name)
    this.#credentials.remove(name, this.#directory.realPath)
  }
}
