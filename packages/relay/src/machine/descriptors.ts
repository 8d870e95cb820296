// The number of files (descriptors) that this process may have open, and whether enough are left.

import { closeSync, openSync, readFileSync } from 'node:fs'
import { RefusalError } from '../core/refusal-error.ts'

/** File descriptors that must be free before a workspace is opened: for its databases, their logs and its socket, for temporary files, and for connections. */
const spareMin = 20

export class FileDescriptors {
  /** The maximum number of open files; undefined if the system does not tell. Read at the start: at the limit no file could be opened to read it. */
  readonly limit: number | undefined = limitNow()

  /**
   * Runs work that opens files, if enough file descriptors are free, perhaps after `makeRoom`. The check comes first: work that ran out of descriptors in the
   * middle might be left half done.
   */
  async withRoom<T>(work: () => Promise<T>, makeRoom: () => Promise<void>): Promise<T> {
    if (!this.#hasEnough()) await makeRoom()
    const refused = () => new RefusalError('daemon.descriptors', { limit: this.limit })
    if (!this.#hasEnough()) throw refused()
    try {
      return await work()
    } catch (error) {
      throw this.#isFromLack(error) ? refused() : error
    }
  }

  /** Whether an error comes from a lack of descriptors. SQLite says only that it cannot open the file. */
  #isFromLack(error: unknown): boolean {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EMFILE' || code === 'ENFILE' || !this.#hasEnough()
  }

  /** Whether enough descriptors are left to open a workspace. */
  #hasEnough(): boolean {
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
