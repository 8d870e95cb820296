// The key of the metrics of all workspaces: a file in the data directory, which a program such as Prometheus reads as its credential. The key opens nothing
// else.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export class MetricsKey {
  readonly #path: string

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'metrics-key')
  }

  /** Makes the key if there is none. To change it, delete the file and start the daemon again. */
  make(): void {
    if (this.#read() === undefined)
      writeFileSync(this.#path, `mk_${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 })
  }

  isKey(credential: string): boolean {
    const key = this.#read()
    return key !== undefined && timingSafeEqual(hashOf(credential), hashOf(key))
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8').trim() || undefined
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
