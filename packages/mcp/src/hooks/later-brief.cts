// A brief that cannot be given now: the next hook of the same host gives it. A file beside the daemon's own hints, named after the host, has a
// line for each such conversation that says how the memory was cut.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The ways in which a session's memory is cut: the CLI says them on standard input (`source`). */
const cuts = ['compact', 'resume', 'clear']

export const cutIn = (word: unknown) => cuts.find((each) => each === word)

export class LaterBrief {
  readonly #path: string | undefined
  readonly #thread: string

  /** `path`: the file for the note; without it nothing is noted. */
  constructor(path: string | undefined, thread = '') {
    this.#path = path
    this.#thread = thread
  }

  leave(after: string | undefined): void {
    if (after !== undefined) this.#write([...this.#lines(false), `${after} ${this.#thread}`])
  }

  get after(): string | undefined {
    return cutIn(this.#lines(true).at(-1)?.split(' ')[0])
  }

  given(): void {
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
