// The output of a command: data on stdout, talk on stderr; colour, tables that fit, JSON. The commands decide what is printed.

import { replaceUnseen, tagOpeningCharacters } from '@agent-relay/sdk/internal/clean'
import type { Env } from '@agent-relay/sdk/internal/discover'
import { asTyped, type Repeated } from './own-name.ts'
import { cleanText, padText, shortenText, textWidth } from './text.ts'

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type TextStyle = keyof typeof styles

export interface TableColumn {
  head: string
  alignsRight?: boolean
  /** The column may be cut when the table is too wide. */
  mayShrink?: boolean
  /** The column is left out where the table is too wide, the highest number first. */
  dropRank?: number
}

/** Columns are not cut below this width, where they would tell nothing. */
const shrunkColumnsMin = 8
/** A column with a `dropRank` is left out before another is cut below this width. */
const readColumnsMin = 20
const columnGap = '  '
/** Bytes that may wait for a paused terminal (Ctrl-S) before further lines are left out. */
const unprintedBytesMax = 64 * 1024
/** The time at the end of a command for its last lines to be written. */
const lastLinesMs = 1_000
/** A command that takes longer than this says what it is doing. */
const silentMs = 1_000

export class Printer {
  readonly #out: NodeJS.WriteStream
  readonly #err: NodeJS.WriteStream
  readonly #env: Env
  readonly #repeated: Repeated | undefined
  readonly #hasColour: boolean
  /** Prints one JSON value a line, for programs. */
  readonly isJson: boolean

  constructor(out: NodeJS.WriteStream, err: NodeJS.WriteStream, env: Env, isJson = false, repeated?: Repeated) {
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

  /** Columns of the terminal. Piped output is never cut. */
  get width(): number {
    return this.#out.isTTY ? (this.#out.columns ?? 80) : Number.POSITIVE_INFINITY
  }

  /** Writes without blocking. Node writes to a terminal synchronously, so a paused one (Ctrl-S) would block the daemon that runs in this process. */
  neverBlock(): void {
    for (const stream of [this.#out, this.#err]) {
      const { _handle: handle } = stream as { _handle?: { setBlocking?(isBlocking: boolean): void } }
      if (stream.isTTY) handle?.setBlocking?.(false)
    }
  }

  /** Whether the reader is behind: printing more would only fill the memory. */
  get isBehind(): boolean {
    return this.#out.writableLength > unprintedBytesMax
  }

  /** Call this at the end: output that a paused terminal has not taken must not keep the process alive. */
  exitAfterLastLines(): void {
    const isLeft = () => this.#out.writableLength + this.#err.writableLength > 0
    if (isLeft()) setTimeout(() => isLeft() && process.exit(), lastLinesMs).unref()
  }

  /** Prints data. Resolves when it has been written, with false if nobody reads any more. */
  line(text = ''): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(`${text}\n`, (error) => resolve(!error))
    })
  }

  json(value: unknown, indent?: number): Promise<boolean> {
    return this.line(safeJson(JSON.stringify(value, null, indent)))
  }

  /** Prints data byte for byte. */
  bytes(data: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(data, (error) => resolve(!error))
    })
  }

  /** Prints a line that replaces the one before, for a person who waits. Without a text, that line is removed. */
  progress(text = ''): void {
    if (!this.#err.isTTY) return
    this.#err.write(`\r\u001b[K${shortenText(cleanText(text), (this.#err.columns ?? 80) - 1)}`)
  }

  /** Prints a text on stderr. It is cleaned, because paths and errors in it may hold control characters. */
  say(text: string): void {
    this.#err.write(`${cleanText(this.typed(text))}\n`)
  }

  /** The text with its commands as the person can type them here. */
  typed(text: string): string {
    return asTyped(text, this.#env, this.#repeated)
  }

  paint(style: TextStyle, text: string): string {
    return this.#hasColour && text !== '' ? `\u001b[${styles[style]}m${text}\u001b[0m` : text
  }

  /** Prints a table. Only a terminal limits its width. The cells must be clean. */
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
    // If even the shrunk columns are too wide, the row is cut: a row that wraps is harder to read.
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
   * Waits for the work. Says `what` if that takes longer than a second, and then how long it has taken, less and less often, together with the answer
   * of `progress`, such as how many of how many.
   */
  async during<T>(what: string, work: Promise<T>, progress?: () => Promise<string | undefined>): Promise<T> {
    // Not performance.now(), whose part of Node takes a millisecond to load.
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

/** The indexes of the columns that are shown. */
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

/** The width of a row, with the gaps between its columns. */
function rowWidth(widths: number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + columnGap.length * (widths.length - 1)
}

/** The widths of the columns. If they are too wide together, the widest column that may shrink is cut first. */
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
 * JSON with escapes for characters that a terminal may act on, and for those that open a tag: by tags a host speaks to its model, which may read
 * this. The value stays the same for programs.
 */
export function safeJson(json: string): string {
  return replaceUnseen(json, escapeCharacters).replace(tagOpeningCharacters, escapeCharacters)
}

export function escapeCharacters(text: string): string {
  return [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}
