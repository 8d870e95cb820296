// Text for a terminal: cleaned, cut and padded to a width.

import { cleanForModel, cleanLineForModel, tagOpeningCharacters } from '@agent-relay/sdk/internal/clean'

// An agent may run these commands in its shell, and its model reads the output. So tags by which the agent's host marks its own texts are removed here, as in a
// tool's answer.
/** Cleans a text that others wrote (control characters, hosts' tags), for printing. */
export const cleanText = (text: string): string => cleanForModel(text)
/** Cleans a text that others wrote, and joins it to one line. */
export const oneLine = cleanLineForModel
/** Cleans one part of a stream. A tag that begins in this part may end in the next one, so its opening character is escaped. */
export const cleanStreamPart = (text: string): string => cleanText(text).replace(unfinishedTag, '&lt;')
/** Matches the opening character of a tag without its end, if so few characters follow that a tag's name may still be incomplete. */
const unfinishedTag = new RegExp(`${tagOpeningCharacters.source}(?=[\\s/]*[^>]{0,60}$)`, 'g')

let segmenter: Intl.Segmenter | undefined
/** Splits a text into graphemes. The segmenter takes 20 ms to make, a fifth of a short command, so it is made at its first use: most texts are plain. */
function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return segmenter.segment(text)
}
const widePattern =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u
/** Matches texts whose characters all take one column and never combine: those of our tables (–, …, ·, →), and the letters of most European languages. */
const plainPattern = /^[ -~·À-ʯ‐-‧←-↓]*$/

/** Returns the number of columns that a text takes in a terminal: exact for plain texts, otherwise estimated. */
export function textWidth(text: string): number {
  if (plainPattern.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemesOf(text)) width += widePattern.test(segment) ? 2 : 1
  return width
}

/** Cuts a text to at most `max` columns; `mark` shows that something was cut off. */
export function shortenText(text: string, max: number, mark = '…'): string {
  if (max === Number.POSITIVE_INFINITY || text.length * 2 <= max || textWidth(text) <= max) return text
  if (plainPattern.test(text)) return text.slice(0, Math.max(0, max - mark.length)).trimEnd() + mark
  let kept = ''
  let room = Math.max(0, max - mark.length)
  for (const { segment } of graphemesOf(text)) {
    room -= widePattern.test(segment) ? 2 : 1
    if (room < 0) break
    kept += segment
  }
  return kept.trimEnd() + mark
}

export function padText(text: string, width: number, toTheRight = false): string {
  const room = ' '.repeat(Math.max(0, width - textWidth(text)))
  return toTheRight ? room + text : text + room
}

const twoDigits = (number: number): string => String(number).padStart(2, '0')

/** Formats the local time as `14:32:01`. */
export function timeText(ts: string | number): string {
  const date = new Date(ts)
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}:${twoDigits(date.getSeconds())}`
}

/** Formats a time as `14:32:01`, with the date unless it is today. */
export function dateTimeText(ts: string | number, now = Date.now()): string {
  const date = new Date(ts)
  if (date.toDateString() === new Date(now).toDateString()) return timeText(ts)
  return `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())} ${timeText(ts)}`
}

/** Formats an age as `now`, `12 s`, `3 m`, `5 h` or `2 d`. */
export function ageText(ts: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(ts)) / 1000))
  if (seconds < 5) return 'now'
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} m`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** A number of things: `1 entry`, `2 entries`. */
export function countedText(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun.replace(/y$/, 'ie')}s`}`
}

/** Returns a path with `~` for the home directory. */
export function withTilde(path: string, home: string | undefined): string {
  return oneLine(home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path)
}
