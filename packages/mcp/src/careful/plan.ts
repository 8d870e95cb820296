// The plan of a dry run: what would be written, file by file. The next edit of a file begins with what the one before would leave.

import { diffText } from './change.ts'
import type { Snapshot } from './file.ts'

export class Plan {
  /** By its path, links followed. */
  readonly #files = new Map<string, { file: string; before?: string; after?: string }>()

  /** The file as it would be by now. */
  seen(found: Snapshot): Snapshot {
    const planned = this.#files.get(found.path)
    return planned ? { ...found, text: planned.after } : found
  }

  /** `file`: as it was named. */
  add(file: string, { path, text: before }: Snapshot, after: string | undefined): void {
    this.#files.set(path, { before, ...this.#files.get(path), file, after })
  }

  /** All changes of a file together; empty where there are none, and once they were told. */
  takeDiff(file: string): string {
    for (const [path, { file: named, before, after }] of this.#files) {
      if (named !== file) continue
      this.#files.set(path, { file, before: after, after })
      return before === after ? '' : diffText(file, before, after)
    }
    return ''
  }
}
