// What a CLI must be told once and then keeps in its own configuration. Remembered by content; told anew when it did not help.

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Two workers that start together must not have one CLI write its file twice at once. */
const underWay = new Map<string, Promise<void>>()

export class Once {
  readonly #path: string

  /** `directory` outlives the workers. */
  constructor(directory: string, harness: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    this.#path = join(directory, harness)
  }

  /** `about` is all that what is done depends on. */
  async do(about: unknown, work: () => Promise<void>): Promise<void> {
    const mark = createHash('sha256').update(JSON.stringify(about)).digest('hex')
    const before = underWay.get(this.#path)?.catch(() => {}) ?? Promise.resolve()
    const mine = before.then(async () => {
      if (this.#read() === mark) return
      await work()
      writeFileSync(this.#path, mark, { mode: 0o600 })
    })
    underWay.set(this.#path, mine)
    return mine
  }

  /** The owner may have taken it out again. */
  forget(): void {
    rmSync(this.#path, { force: true })
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch {
      return undefined
    }
  }
}
