// A brief that could not be given when a session's memory was cut: the next hook of the same host gives the brief. A file beside the daemon's own
// hints, named after the host, has a line with the kind of cut for each such conversation.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The ways in which a session's memory is cut: the CLI says them on standard input (`source`). */
const memoryCuts = ['compact', 'resume', 'clear']

export const memoryCutIn = (word: unknown) => memoryCuts.find((each) => each === word)

export class PendingBrief {
  readonly #path: string | undefined
  readonly #thread: string

  /** `path`: the file for the note; without it nothing is noted. */
  constructor(path: string | undefined, thread = '') {
    this.#path = path
    this.#thread = thread
  }

  store(after: string | undefined): void {
    if (after !== undefined) this.#write([...this.#lines(false), `${after} ${this.#thread}`])
  }

  get storedCut(): string | undefined {
    return memoryCutIn(this.#lines(true).at(-1)?.split(' ')[0])
  }

  clear(): void {
    this.#write(this.#lines(false))
  }

  #lines(isOwn: boolean): string[] {
    try {
      const lines = this.#path === undefined ? [] : readFileSync(this.#path, 'utf8').split('\n')
      return lines.filter((line) => line !== '' && ((line.split(' ')[1] ?? '') === this.#thread) === isOwn)
    } catch {
      return []
    }
  }

  #write(lines: string[]): void {
    try {
      if (this.#path === undefined) return
      if (lines.length > 0) writeFileSync(this.#path, `${lines.join('\n')}\n`, { mode: 0o600 })
      else rmSync(this.#path, { force: true })
    } catch {}
  }
}
