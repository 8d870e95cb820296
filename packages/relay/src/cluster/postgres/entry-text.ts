// Entries as text that PostgreSQL can keep, and back again.

import { createHash } from 'node:crypto'
import type { Draft } from '../../core/journal.ts'

/** The last three arguments of a function that stores drafts: what it decides by, the rest of each, and the payloads. */
export function draftTexts(drafts: readonly Draft[]): [string, string, string] {
  const payloads = drafts.some(({ payload }) => payload) ? drafts.map(payloadOf) : []
  return [
    JSON.stringify(drafts.map(({ at, by, cause }) => ({ at, by: plainText(by), cause: plainText(cause) }))),
    JSON.stringify(drafts.map(entryText)),
    JSON.stringify(payloads),
  ]
}

function entryText({ at: _, by: __, cause: ___, payload: ____, ...rest }: Draft): string {
  return JSON.stringify(rest)
}

function payloadOf({ payload }: Draft): string | null {
  return payload ? Buffer.from(payload).toString('base64') : null
}

/** What the server cannot keep as text: NUL, and half of a pair that stands for one character. */
const odd = /\0|\p{Surrogate}/u

/** Any text as one that the server can keep; no two become the same. */
export function plainText(text: string): string {
  return odd.test(text) || text.startsWith('\\') ? `\\${JSON.stringify(text)}` : text
}

export function fromPlain(text: string): string {
  return text.startsWith('\\') ? JSON.parse(text.slice(1)) : text
}

const keyCharsMax = 200

/** A key as it is compared by the server, which indexes no long text. */
export function keyText(key: string): string {
  if (key.length <= keyCharsMax && !odd.test(key)) return key
  return `sha256 ${createHash('sha256').update(JSON.stringify(key)).digest('base64url')}`
}
