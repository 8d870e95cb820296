// The plan of a dry run: the edits of each file, where each edit begins with the text that the one before would leave.

import { diffText } from './change.ts'
import type { Snapshot } from './file.ts'

export class Plan {
  /** Keyed by the real path, after all links. */
  readonly #files = new Map<string, { file: string; before?: string; after?: string }>()

  /** The file as it would be by now. */
  seen(found: Snapshot): Snapshot {
    const planned = this.#files.get(found.path)
    return planned ? { ...found, text: planned.after } : found
  }

  /** Adds an edit. `file` is the path as the caller named it. */
  add(file: string, { path, text: before }: Snapshot, after: string | undefined): void {
    this.#files.set(path, { before, ...this.#files.get(path), file, after })
  }

  /** All changes of a file together; empty if there are none, or if they were taken before. */
  takeDiff(file: string): string {
    for (const [path, { file: named, before, after }] of this.#files) {
      if (named !== file) continue
      this.#files.set(path, { file, before: after, after })
      return before === after ? '' : diffText(file, before, after)
    }
    return ''
  }
}
