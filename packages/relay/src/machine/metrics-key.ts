// The key of the metrics of all workspaces: a file in the data directory, which a program such as Prometheus reads as its credential. The key opens nothing
// else.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tryOrUndefined } from './try-or-undefined.ts'

export class MetricsKey {
  readonly #path: string

  constructor(dataDir: string) {
    this.#path = join(dataDir, 'metrics-key')
  }

  /** Makes the key if there is none. To change it, delete the file and start the daemon again. Throws if the file cannot be written. */
  make(): void {
    if (this.#read() === undefined)
      writeFileSync(this.#path, `mk_${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 })
  }

  /** Whether this is the key; false if the file cannot be read, so that the workspaces' own keys still open their own metrics. */
  isKey(credential: string): boolean {
    const key = this.#read()
    return key !== undefined && timingSafeEqual(hashOf(credential), hashOf(key))
  }

  /** Returns the key; undefined if the file is missing or cannot be read. */
  #read(): string | undefined {
    return tryOrUndefined(() => readFileSync(this.#path, 'utf8').trim() || undefined)
  }
}

function hashOf(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}
