// How answers are written for a model: bounded, and so that no message can pretend to be something else.

import { withoutReminders } from '@agent-relay/sdk/injection'

/** A host cuts or hides longer answers; what does not fit stays unread. */
export const answerBytesMax = 32 * 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** At most `bytesMax` bytes, cut between characters, saying that it was cut. */
export function cut(text: string, bytesMax: number = answerBytesMax): string {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return text
  const note = `\n… cut: the message has ${bytes.length} bytes. Ask its sender for a file.`
  const end = bytesMax - encoder.encode(note).length
  return decoder.decode(bytes.subarray(0, end)).replace(/\uFFFD$/, '') + note
}

/** At most `bytesMax` bytes of it, cut between characters. */
export function clip(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text)
  if (bytes.length <= bytesMax) return text
  return `${decoder.decode(bytes.subarray(0, bytesMax - 3)).replace(/\uFFFD$/, '')}…`
}

/** Whatever any reader may take for the end of a line. */
const lineEnds = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/
/** Not seen, or not where it stands: control characters, overrides of the writing direction, and the invisible tag letters. */
const unseen = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Of a text that stands inside a line: what could begin another is a space. */
export function oneLine(text: string): string {
  return withoutReminders(text.split(lineEnds).join(' ').replace(unseen, ''))
}

/** Every line of a body stands two columns in: a header or a rule at the margin is always ours. */
export function indented(body: string): string {
  return linesOf(body)
    .map((line) => `  ${line}`)
    .join('\n')
}

/** The same behind a text that begins the first line. */
export function hanging(body: string): string {
  return indented(body).slice(2)
}

function linesOf(body: string): string[] {
  const lines = body
    .split(lineEnds)
    .map((line) => line.replace(unseen, (character) => (character === '\t' ? '\t' : '')))
  // After the unseen has gone, which could hide a tag, and over the ends of lines, which a tag may have inside.
  return withoutReminders(lines.join('\n')).split('\n')
}

/** A thread that reads like a word stands as it is; any other in quotes, so that it cannot pass for the rest of a header. */
export function threadText(thread: string): string {
  return /^[\w.:#@/-]+$/.test(thread) ? thread : JSON.stringify(oneLine(thread))
}
