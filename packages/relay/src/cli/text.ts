// Text that others wrote, made safe and short for a terminal: widths, times, one line. Nothing here knows a stream or a message.

/** Whole escape sequences, so that `ESC[31m` leaves no `[31m` behind: strings with a terminator (OSC, DCS, …), CSI, and the two-character ones. */
const escapeSequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\n\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b[ -/]*[0-~]?/g
/** Direction marks can reorder a line; tags, selectors and annotations can carry text that nobody sees. */
const unseen = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu
const controls = /[^\P{Cc}\n\t]/gu

/** Keeps line breaks and tabs; a lone carriage return, which could overwrite what stands before it, becomes a line break. */
export function clean(text: string): string {
  const lines = text.replace(escapeSequences, '').replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
  return lines.replace(unseen, '').replace(controls, '')
}

export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const wide =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u
const plain = /^[ -~]*$/

/** Columns that a terminal uses for it; a good guess for what is not ASCII. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1
  return width
}

/** At most `max` columns, with `mark` where something was cut off. */
export function shorten(text: string, max: number, mark = '…'): string {
  if (max === Number.POSITIVE_INFINITY || text.length * 2 <= max || widthOf(text) <= max) return text
  let kept = ''
  let room = Math.max(0, max - mark.length)
  for (const { segment } of graphemes.segment(text)) {
    room -= wide.test(segment) ? 2 : 1
    if (room < 0) break
    kept += segment
  }
  return kept.trimEnd() + mark
}

export function pad(text: string, width: number, toTheRight = false): string {
  const room = ' '.repeat(Math.max(0, width - widthOf(text)))
  return toTheRight ? room + text : text + room
}

const two = (number: number): string => String(number).padStart(2, '0')

/** `14:32:01`, local time. */
export function timeOf(ts: string | number): string {
  const date = new Date(ts)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** The time alone for today, else with its date. */
export function dateTimeOf(ts: string | number, now = Date.now()): string {
  const date = new Date(ts)
  if (date.toDateString() === new Date(now).toDateString()) return timeOf(ts)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOf(ts)}`
}

/** `now`, `12 s`, `3 m`, `5 h`, `2 d`. */
export function ageOf(ts: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(ts)) / 1000))
  if (seconds < 5) return 'now'
  if (seconds < 100) return `${seconds} s`
  if (seconds < 100 * 60) return `${Math.round(seconds / 60)} m`
  if (seconds < 48 * 3600) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** `a`, `a and b`, `a, b and c`. */
export function listOf(names: string[]): string {
  return names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `312 B`, `1.2 KB`, `5.0 MB`. */
export function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** A path as its owner would write it. */
export function homely(path: string, home: string | undefined): string {
  return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}
