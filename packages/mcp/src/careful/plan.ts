// Collects the edits of a dry run by file. Each edit starts with the text that the earlier edits of its file would leave.

import { diffText } from './change.ts'
import type { FileSnapshot } from './file.ts'

export class DryRunPlan {
  /** The map key is the file's real path, with all symbolic links resolved. */
  readonly #files = new Map<string, { file: string; before?: string; after?: string }>()

  /** Returns the file as the edits planned so far would leave it. */
  plannedSnapshot(found: FileSnapshot): FileSnapshot {
    const planned = this.#files.get(found.path)
    return planned ? { ...found, text: planned.after } : found
  }

  /** Adds an edit. `file` is the path as the caller named it. */
  addEdit(file: string, { path, text }: FileSnapshot, after: string | undefined): void {
    this.#files.set(path, { before: text, ...this.#files.get(path), file, after })
  }

  /** Returns all changes of a file as one diff; empty if nothing changes, or if the diff was taken before. */
  takeDiff(file: string): string {
    for (const [path, { file: named, before, after }] of this.#files) {
      if (named !== file) continue
      this.#files.set(path, { file, before: after, after })
      return before === after ? '' : diffText(file, before, after)
    }
    return ''
  }
}
