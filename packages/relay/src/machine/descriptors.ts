// The number of files that this process may have open, and whether it may open more.

import { closeSync, openSync, readFileSync } from 'node:fs'
import { RefusalError } from '../core/refusal-error.ts'

/** Descriptors that must be free before a workspace is opened: for its databases, their logs and its socket, the files used meanwhile, and connections. */
const spareMin = 20

export class Descriptors {
  /** The maximum number of open files; undefined if the system does not tell. Read at the start, because at the limit no file can be read. */
  readonly limit: number | undefined = limitNow()

  /**
   * Runs work that opens files, if descriptors are left. This is checked before the work, which might leave half of itself behind if it ran out in the
   * middle.
   */
  async withRoom<T>(work: () => Promise<T>, makeRoom: () => Promise<void>): Promise<T> {
    if (!this.#areLeft()) await makeRoom()
    const refused = () => new RefusalError('daemon.descriptors', { limit: this.limit })
    if (!this.#areLeft()) throw refused()
    try {
      return await work()
    } catch (error) {
      throw this.#isForWant(error) ? refused() : error
    }
  }

  /** Whether an error comes from a lack of descriptors. SQLite says only that it cannot open the file. */
  #isForWant(error: unknown): boolean {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EMFILE' || code === 'ENFILE' || !this.#areLeft()
  }

  /** Whether enough descriptors are left to open a workspace. */
  #areLeft(): boolean {
    const spare: number[] = []
    try {
      for (let i = 0; i < spareMin; i++) spare.push(openSync('/dev/null', 'r'))
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return code !== 'EMFILE' && code !== 'ENFILE'
    } finally {
      for (const descriptor of spare) closeSync(descriptor)
    }
  }
}

function limitNow(): number | undefined {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return found === undefined ? undefined : Number(found)
  } catch {
    return undefined
  }
}
