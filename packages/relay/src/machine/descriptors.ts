// How many files this process may have open, and whether it may open one more.

import { closeSync, openSync, readFileSync } from 'node:fs'
import { RefusalError } from '../core/refusal-error.ts'

/** A workspace's databases, their logs and its socket; the files that are read and written meanwhile; and connections to talk about it. */
const spareMin = 20

export class Descriptors {
  /** Undefined where the system does not tell. Read ahead: at the limit no file can be read. */
  readonly limit: number | undefined = limitNow()

  /** Looks before anything is begun: what fails for want of a descriptor in its middle may leave half of itself behind. */
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

  /** SQLite says only that it cannot open the file. */
  #isForWant(error: unknown): boolean {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EMFILE' || code === 'ENFILE' || !this.#areLeft()
  }

  /** Whether a workspace could be opened. */
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
