// Makes, hashes and compares workspace keys and agents' tokens. Only hashes reach a database; for the owner's file of keys see machine/credentials-file.ts.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { type Clock, isDeadlineAhead } from '../../machine/clock.ts'
import type { Store } from '../../store/store.ts'

const secretBytes = 24
/** Lifetime of a token that expires: a day. */
export const dayTokenMs = 24 * 3_600_000

/** Makes a new secret: `rk_…` is a key that opens a workspace, `at_…` a token that acts as one agent, `st_…` a ticket that continues a session. */
export function newSecret(prefix: 'rk' | 'at' | 'st'): string {
  return `${prefix}_${randomBytes(secretBytes).toString('base64url')}`
}

export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

/** The key and the tokens of one workspace. */
export class Credentials {
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  isKey(key: string): boolean {
    return isSecret(key, this.#store.meta('key'))
  }

  agentOfToken(token: string): string | undefined {
    const found = this.#store.queries.tokenOwner(hashSecret(token))
    if (found?.until !== undefined && !isDeadlineAhead(found.until, this.#clock.now(), dayTokenMs)) return undefined
    return found?.agent
  }

  /** Returns the hashes of the workspace key and of all tokens. */
  hashes(): string[] {
    return [this.#store.meta('key') ?? '', ...this.#store.queries.tokenHashes()]
  }
}

function isSecret(secret: string, hash: string | undefined): boolean {
  if (hash === undefined) return false
  return timingSafeEqual(Buffer.from(hashSecret(secret), 'hex'), Buffer.from(hash, 'hex'))
}
