// The digest of a call's input, so that the id of one call cannot be taken for another. A plain message needs none when it is stored: its row says what was
// asked, and the digest is made from the row if the id comes again.

import { hash } from 'node:crypto'
import type { Verdict } from '../core/verdict.ts'

/** The length of a digest in characters, 132 bits: two different inputs never have the same digest by chance. */
const digestChars = 22

/**
 * Digests the caller's own input, without the daemon's additions: secrets made for a call, defaults of another version and looked-up names are not part of the
 * digest. Neither is `wait`: a caller who asks again waits for the rest of the time.
 */
export function inputDigest(operation: string, input: unknown): string {
  const { wait: _, ...said } = (input ?? {}) as Record<string, unknown>
  return hash('sha256', `${operation} ${canonical(said)}`, 'base64url').slice(0, digestChars)
}

/** Writes a value as text, with sorted keys, and each string as it is, after its length: quoting a message's body as JSON takes longer than digesting it. */
function canonical(value: unknown): string {
  if (typeof value === 'string') return `${value.length}:${value}`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const said = value as Record<string, unknown>
  let text = '{'
  for (const key of Object.keys(said).sort())
    if (said[key] !== undefined) text += `${canonical(key)} ${canonical(said[key])},`
  return `${text}}`
}

/** Stands where an entry's digest would: the message was stored just as its sender said it. No digest is one character long. */
export const storedAsSaid = '='

/** Makes the digest of a call from the row of its message, if that is what the entry's digest says; other digests are returned as they are. */
export function recordedDigest(digest: string, message: { to: unknown; body: string; kind: string }): string {
  if (digest !== storedAsSaid) return digest
  const { to, body, kind } = message
  return inputDigest('message.send', kind === 'free' ? { to, body } : { to, body, kind })
}

/** What a rule has decided to store. */
export type Stored = Pick<Exclude<Verdict, { refusal: unknown }>, 'facts' | 'outcome' | 'body'>

/**
 * Returns what an entry keeps about its call's input: `storedAsSaid` if the input is no more than what is stored, so that `recordedDigest` can digest it later,
 * otherwise the digest.
 */
export function digestToStore(operation: string, input: unknown, { facts, outcome, body }: Stored): string {
  const created = facts[facts.length - 1]
  if (operation !== 'message.send' || created?.type !== 'message.created') return inputDigest(operation, input)
  const said = input as Record<string, unknown>
  // A kind that was said although it is the usual one could not be told from one that was not said.
  const kind = created.kind === 'free' ? undefined : created.kind
  const isSame = typeof said.to === 'string' && said.to === outcome.to && said.body === body && said.kind === kind
  return isSame && Object.keys(said).every((key) => isStored(key) || said[key] === undefined)
    ? storedAsSaid
    : inputDigest(operation, input)
}

function isStored(key: string): boolean {
  return key === 'to' || key === 'body' || key === 'kind' || key === 'wait'
}
