// Formats answers as texts for a model: of limited length, and so that no message can imitate the relay's own lines.

import { cleanForModel, mapTexts } from '@agent-relay/sdk/internal/clean'

/** Maximum size of an answer in bytes: a host cuts or hides longer ones, and the rest stays unread. */
export const answerBytesMax = 32 * 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** At most `bytesMax` bytes of a text, cut between characters, with a note if it was cut. */
export function truncateWithNote(text: string, bytesMax: number = answerBytesMax): string {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return text
  const note = `\n… cut: the message has ${bytes.length} bytes. Ask its sender for a file.`
  const end = bytesMax - encoder.encode(note).length
  return decoder.decode(bytes.subarray(0, end)).replace(/\uFFFD$/, '') + note
}

/** At most `bytesMax` bytes of a text, cut between characters; ends with `…` if it was cut. */
export function clipText(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return text
  return `${decoder.decode(bytes.subarray(0, bytesMax - 3)).replace(/\uFFFD$/, '')}…`
}

/** The first items, as many as fit into `bytesMax` as JSON, and at least one. */
export function itemsThatFit<T>(items: readonly T[], bytesMax: number = answerBytesMax): T[] {
  let bytes = 0
  const end = items.findIndex((item, n) => {
    bytes += encoder.encode(JSON.stringify(item)).length + 1
    return bytes > bytesMax && n > 0
  })
  return end === -1 ? [...items] : items.slice(0, end)
}

/** The fields of an answer with a list: as many items as fit, and the number of the others. */
export function listAnswer(name: string, items: readonly object[]): object {
  const shown = itemsThatFit(items)
  return shown.length === items.length ? { [name]: shown } : { [name]: shown, more: items.length - shown.length }
}

/** The text with every line indented by two columns. */
export function indentedForModel(text: string): string {
  return cleanForModel(text).replace(/^/gm, '  ')
}

/**
 * Matches the beginning of each line that could pass for one of the relay's own: the heading of a message, the rule between two messages, counts,
 * what waits, and the lines below an answer; also if it is decorated, or spelled with other brackets and dashes. No part of the pattern spans lines,
 * so each line is tried once: a body of a hundred thousand empty lines must not hold up the daemon.
 */
const ownLineStart =
  /^(?:[^\S\n]|[>*#`|]){0,40}(?:\p{Ps}.{1,200}\p{Pe} {0,40}from\b|[\p{Pd}_=]{3,}[^\S\n]*$|\d+ (?:unread|more|earlier|message)\b|id: |response from |message sent to |not delivered to |relay message from |.{1,300} (?:is|are) away\b|.{1,300} cannot be reached\b)/imu

/**
 * Formats a message's body without indentation, so that code and patches keep their columns; indents it if one of its lines could pass for one of the
 * relay's own.
 */
export function bodyForModel(body: string): string {
  const clean = cleanForModel(body)
  return ownLineStart.test(clean.normalize('NFKC')) ? indentedForModel(clean) : clean
}

/** Formats a message's body to follow a text on the same line: its first line is not indented. */
export function bodyOnSameLine(body: string): string {
  return bodyForModel(body).replace(/^ {2}/, '')
}

/** Prepares a JSON value for a model: cleans every string in it, and cuts it to the length of an answer. */
export function cleanValueForModel<T>(value: T): T {
  return mapTexts(value, (text) => truncateWithNote(cleanForModel(text))) as T
}

/** Says which recipients have no live session; undefined if all have one. */
export function absentRecipientsText(away: readonly string[]): string | undefined {
  if (away.length === 0) return undefined
  if (away.length === 1) return `${away[0]} is away; it waits in their inbox.`
  return `${away.join(', ')} are away; it waits in their inboxes.`
}
