// Prints the output of commands: data on stdout, remarks on stderr; in colour, as tables that fit the terminal, or as JSON.

import { replaceInvisible, tagOpeningCharacters } from '@agent-relay/sdk/internal/clean'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { type RepeatedOptions, withCommandsAsTyped } from './own-name.ts'
import { cleanText, padText, shortenText, textWidth } from './text.ts'

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type TextStyle = keyof typeof styles

export interface TableColumn {
  head: string
  alignsRight?: boolean
  /** Whether the column may be cut if the table is too wide. */
  mayShrink?: boolean
  /** If the table is too wide, columns with this number are left out, the highest number first. */
  dropRank?: number
}

/** Minimum width to which a column is cut. */
const shrunkColumnsMin = 8
/** Before a column is cut below this width, columns with a `dropRank` are left out. */
const readColumnsMin = 20
const columnGap = '  '
/** Maximum number of bytes that wait for a paused terminal (Ctrl-S). Beyond it, further lines are left out. */
const unprintedBytesMax = 64 * 1024
/** Time in ms for the last lines to be written at the end of a command. */
const lastLinesMs = 1_000
/** A command that takes longer than this, in ms, prints what it is doing. */
const silentMs = 1_000

export class Printer {
  readonly #out: NodeJS.WriteStream
  readonly #err: NodeJS.WriteStream
  readonly #env: Env
  readonly #repeated: RepeatedOptions | undefined
  readonly #hasColour: boolean
  /** Whether to print JSON for programs, one value per line. */
  readonly isJson: boolean

  constructor(out: NodeJS.WriteStream, err: NodeJS.WriteStream, env: Env, isJson = false, repeated?: RepeatedOptions) {
    this.#out = out
    this.#err = err
    this.#env = env
    this.isJson = isJson
    this.#repeated = repeated
    this.#hasColour = !isJson && wantsColour(env, out.isTTY)
  }

  get isForPerson(): boolean {
    return !this.isJson && this.#out.isTTY === true
  }

  /** Width of the terminal in columns. Piped output has no limit. */
  get width(): number {
    return this.#out.isTTY ? (this.#out.columns ?? 80) : Number.POSITIVE_INFINITY
  }

  /** Makes writing non-blocking. By default Node waits for a terminal, and a paused one (Ctrl-S) would block the daemon in this process. */
  neverBlock(): void {
    for (const stream of [this.#out, this.#err]) {
      const { _handle: handle } = stream as { _handle?: { setBlocking?(isBlocking: boolean): void } }
      if (stream.isTTY) handle?.setBlocking?.(false)
    }
  }

  /** Whether the output is read too slowly, so that more of it would only fill the memory. */
  get isBehind(): boolean {
    return this.#out.writableLength > unprintedBytesMax
  }

  /** Call this at the end: ends the process soon, even if a paused terminal has not taken all output. */
  exitAfterLastLines(): void {
    const isLeft = () => this.#out.writableLength + this.#err.writableLength > 0
    if (isLeft()) setTimeout(() => isLeft() && process.exit(), lastLinesMs).unref()
  }

  /** Prints a line of data. Resolves when it was written; to false if the output is closed. */
  line(text = ''): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(`${text}\n`, (error) => resolve(!error))
    })
  }

  json(value: unknown, indent?: number): Promise<boolean> {
    return this.line(safeJson(JSON.stringify(value, null, indent)))
  }

  /** Prints bytes unchanged. */
  bytes(data: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(data, (error) => resolve(!error))
    })
  }

  /** Prints a line that replaces the last one of this kind, for a person who waits. Without a text, removes that line. */
  progress(text = ''): void {
    if (!this.#err.isTTY) return
    this.#err.write(`\r\u001b[K${shortenText(cleanText(text), (this.#err.columns ?? 80) - 1)}`)
  }

  /** Prints a text on stderr. It is cleaned, since paths and errors in it may contain control characters. */
  say(text: string): void {
    this.#err.write(`${cleanText(this.typed(text))}\n`)
  }

  /** Rewrites the commands in a text so that the person can type them here. */
  typed(text: string): string {
    return withCommandsAsTyped(text, this.#env, this.#repeated)
  }

  paint(style: TextStyle, text: string): string {
    return this.#hasColour && text !== '' ? `\u001b[${styles[style]}m${text}\u001b[0m` : text
  }

  /** Prints a table, whose width only a terminal limits. The cells must be cleaned already. */
  table(all: TableColumn[], cells: string[][]): Promise<boolean> {
    const kept = shownColumns(all, cells, this.width)
    const columns = kept.map((i) => all[i] as TableColumn)
    const rows = cells.map((row) => kept.map((i) => row[i] ?? ''))
    const widths = fitWidths(columns, rows, this.width)
    const whole = (cells: string[]) =>
      cells
        .map((cell, i) => padText(shortenText(cell, widths[i] as number), widths[i] as number, columns[i]?.alignsRight))
        .join(columnGap)
        .trimEnd()
    // If the columns do not fit even after shrinking, the row is cut: a wrapped row would be harder to read.
    const lineOf = (cells: string[]) => shortenText(whole(cells), this.width)
    const isHeaded = columns.some(({ head }) => head !== '')
    const head = isHeaded ? [this.paint('dim', lineOf(columns.map((column) => column.head)))] : []
    return this.line([...head, ...rows.map(lineOf)].join('\n'))
  }

  /** Prints names with their values, one a line. */
  facts(rows: string[][]): Promise<boolean> {
    return this.table([{ head: '' }, { head: '' }], rows)
  }

  /**
   * Waits for `work`. After a second it prints `what`, and later how long it has taken, at growing intervals, with the text of `progress`, such as how many of
   * how many.
   */
  async during<T>(what: string, work: Promise<T>, progress?: () => Promise<string | undefined>): Promise<T> {
    // process.uptime() is used since performance.now() would take a millisecond to load.
    const from = process.uptime()
    let isOver = false
    const tell = async () => {
      const parts = [what, await progress?.().catch(() => undefined)]
      if (isOver) return
      const seconds = Math.round(process.uptime() - from)
      if (seconds > 1) parts.push(`${seconds} s`)
      this.say(`${parts.filter(Boolean).join(', ')} …`)
      timer = setTimeout(tell, 2_000 * (process.uptime() - from))
    }
    let timer = setTimeout(tell, silentMs)
    try {
      return await work
    } finally {
      isOver = true
      clearTimeout(timer)
    }
  }
}

function wantsColour(env: Env, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return isTerminal === true && env.TERM !== 'dumb'
}

/** Returns the indexes of the columns that fit into the width. */
function shownColumns(columns: TableColumn[], rows: string[][], max: number): number[] {
  const natural = naturalWidths(columns, rows)
  const least = natural.map((width, i) => (columns[i]?.mayShrink ? Math.min(width, readColumnsMin) : width))
  const kept = columns.map((_, i) => i)
  const spares = kept
    .filter((i) => columns[i]?.dropRank)
    .sort((a, b) => Number(columns[a]?.dropRank) - Number(columns[b]?.dropRank))
  while (spares.length > 0 && rowWidth(kept.map((i) => least[i] as number)) > max)
    kept.splice(kept.indexOf(spares.pop() as number), 1)
  return kept
}

function naturalWidths(columns: TableColumn[], rows: string[][]): number[] {
  return columns.map(({ head }, i) => Math.max(textWidth(head), ...rows.map((row) => textWidth(row[i] ?? ''))))
}

/** Returns the width of a row, including the gaps between its columns. */
function rowWidth(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + columnGap.length * (widths.length - 1)
}

/** Returns the widths of the columns. If the table is too wide, the widest column that may shrink is cut first. */
function fitWidths(columns: TableColumn[], rows: string[][], max: number): number[] {
  const widths = naturalWidths(columns, rows)
  const total = () => rowWidth(widths)
  while (total() > max) {
    const shrinkable = widths.map((width, i) => (columns[i]?.mayShrink && width > shrunkColumnsMin ? width : 0))
    const widest = Math.max(...shrinkable)
    if (widest === 0) break
    widths[shrinkable.indexOf(widest)] = Math.max(shrunkColumnsMin, widest - Math.max(1, total() - max))
  }
  return widths
}

/**
 * Escapes characters in JSON that a terminal may act on, and those that begin a tag: hosts mark their own texts to a model by tags, and a model may read this.
 * A program that parses the JSON gets the same value.
 */
export function safeJson(json: string): string {
  return replaceInvisible(json, escapeCharacters).replace(tagOpeningCharacters, escapeCharacters)
}

export function escapeCharacters(text: string): string {
  return [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}
