// The digest of a call's input: if the same call id comes again, the digest tells whether it is the same call. An entry of a plain message stores no digest,
// since it can be made from the message's row when it is needed.

import { hash } from 'node:crypto'
import type { Verdict } from '../core/verdict.ts'

/** The length of a digest in characters of base64url (132 bits): enough that two different inputs never have the same digest by chance. */
const digestChars = 22

/**
 * Returns the digest of the input that the caller sent, without what the daemon adds to it, such as generated secrets, defaults and looked-up names. The field
 * `wait` is left out too: a caller that repeats its call waits only for the rest of the time.
 */
export function inputDigest(operation: string, input: unknown): string {
  const { wait: _, ...said } = (input ?? {}) as Record<string, unknown>
  return hash('sha256', `${operation} ${canonical(said)}`, 'base64url').slice(0, digestChars)
}

/**
 * Writes a value as text with sorted keys, for the digest. A string is written as its length and its characters: quoting a message's body as JSON would take
 * longer than hashing it.
 */
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

/** The value of an entry's column `digest` if `recordedDigest` can make the digest from the message's row. No real digest is one character long. */
export const digestFromMessage = '='

/** Returns the digest of a call. If the entry's column `digest` is `digestFromMessage`, the digest is made from the row of its message. */
export function recordedDigest(digest: string, message: { to: unknown; body: string; kind: string }): string {
  if (digest !== digestFromMessage) return digest
  const { to, body, kind } = message
  return inputDigest('message.send', kind === 'free' ? { to, body } : { to, body, kind })
}

/** The part of a rule's decision that is stored in the entry. */
export type StoredDecision = Pick<Exclude<Verdict, { refusal: unknown }>, 'facts' | 'outcome' | 'body'>

/** Returns the value of an entry's column `digest`: `digestFromMessage` if the message's row has all of the input, otherwise the digest. */
export function digestToStore(operation: string, input: unknown, { facts, outcome, body }: StoredDecision): string {
  const created = facts[facts.length - 1]
  if (operation !== 'message.send' || created?.type !== 'message.created') return inputDigest(operation, input)
  const said = input as Record<string, unknown>
  // A caller may leave out the kind `free`, the default, and the row cannot tell whether it did. So `digestFromMessage` stands for inputs without it.
  const kind = created.kind === 'free' ? undefined : created.kind
  const isSame = typeof said.to === 'string' && said.to === outcome.to && said.body === body && said.kind === kind
  return isSame && Object.keys(said).every((key) => isStored(key) || said[key] === undefined)
    ? digestFromMessage
    : inputDigest(operation, input)
}

function isStored(key: string): boolean {
  return key === 'to' || key === 'body' || key === 'kind' || key === 'wait'
}
