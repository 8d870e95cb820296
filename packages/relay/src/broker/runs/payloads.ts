// Payloads (results) of completed runs: stored as gzip, and read by callers who may see the run or who have a signed link (payload-links.ts).

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { RefusalError } from '../../core/refusal-error.ts'
import type { Store } from '../../store/store.ts'
import type { WorkspaceParts } from '../call.ts'
import type { Engine } from '../engine.ts'
import { PayloadLinks } from './payload-links.ts'

const compress = promisify(gzip)
/** Level 3 of gzip takes a third of the time of the default, 6, and makes a report five percent larger. */
const compression = { level: 3, chunkSize: 256 * 1024 }

export class Payloads {
  readonly #store: Store
  readonly #engine: Engine
  readonly #links: PayloadLinks

  constructor({ store, engine, clock, hub }: WorkspaceParts) {
    this.#store = store
    this.#engine = engine
    this.#links = new PayloadLinks(clock, hub)
  }

  /** Returns the payload of a run as gzip, fetched from another machine if necessary. */
  async payloadOf(run: string): Promise<Uint8Array> {
    const { runs } = this.#store.view
    const seq = runs.payloadEntry(run)
    const packed = runs.payload(run) ?? (seq === undefined ? undefined : await this.#engine.fetchPayload?.(seq))
    if (packed === undefined) throw new RefusalError('run.no-payload', { run })
    return packed
  }

  async byLink(run: string, right: string): Promise<Uint8Array> {
    if (!this.#links.isValidRight(right, run)) throw new RefusalError('payload.link')
    return this.payloadOf(run)
  }

  /** Returns a signed link to the payload, for callers who may see the run. */
  addressWithRight(url: string, run: string): string {
    return this.#links.addressWithRight(url, this.#store.meta('id') as string, run)
  }
}

/** Compresses a payload in another thread, before its command is submitted, so that no commit waits for it. */
export async function packPayload(payload: string): Promise<{ payload: Uint8Array; payloadBytes: number }> {
  const bytes = Buffer.from(payload)
  return { payload: await compress(bytes, compression), payloadBytes: bytes.length }
}
