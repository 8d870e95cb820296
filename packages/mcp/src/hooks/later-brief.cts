// Remembers that a brief (a summary of the agent's situation) is due: the model's context was cut, but the hook of that moment could not give the
// brief, so the next hook of the same CLI process does. The note is a file named after that process, with the kind of cut on one line for each
// conversation.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'

/** The ways in which a model's context is cut. A CLI names one as `source` on the hook's standard input. */
const memoryCuts = ['compact', 'resume', 'clear']

export const parseMemoryCut = (word: unknown) => memoryCuts.find((each) => each === word)

export class PendingBrief {
  readonly #path: string | undefined
  readonly #thread: string

  /** `path`: the file with the note. If unset, nothing is stored. */
  constructor(path: string | undefined, thread = '') {
    this.#path = path
    this.#thread = thread
  }

  store(after: string | undefined): void {
    if (after !== undefined) this.#write([...this.#lines(false), `${after} ${this.#thread}`])
  }

  get storedCut(): string | undefined {
    return parseMemoryCut(this.#lines(true).at(-1)?.split(' ')[0])
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
