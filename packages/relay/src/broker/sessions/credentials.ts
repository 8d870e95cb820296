// Keys and tokens: how they are made, hashed and compared. Only hashes reach a database; for the owner's file of keys see credentials-file.ts.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const secretBytes = 24
/** A token that expires is valid for a day. */
export const dayTokenMs = 24 * 3_600_000

/** `rk_…` opens a workspace, `at_…` acts as one agent. */
export function newSecret(prefix: 'rk' | 'at' | 'st'): string {
  return `${prefix}_${randomBytes(secretBytes).toString('base64url')}`
}

export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

export function isSecret(secret: string, hash: string | undefined): boolean {
  if (hash === undefined) return false
  return timingSafeEqual(Buffer.from(hashOf(secret), 'hex'), Buffer.from(hash, 'hex'))
}
