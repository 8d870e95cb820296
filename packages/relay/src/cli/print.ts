// The two streams: data on stdout, talk on stderr, and how both look: colour or none, tables that fit. What is said comes from the commands.

import { asTyped } from './own-name.ts'
import { pad, shorten, widthOf } from './text.ts'

type Env = Record<string, string | undefined>

const styles = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
export type Style = keyof typeof styles

export interface Column {
  head: string
  toTheRight?: boolean
  /** May be cut when the table is too wide. */
  mayShrink?: boolean
}

/** A column is not cut below this: shorter tells nothing. */
const shrunkColumnsMin = 8
const gap = '  '
/** Anything that takes longer than this says what it is doing. */
const patienceMs = 1_000

/** What JSON leaves as it is and a terminal may still act on; escaped, it stays the same JSON. */
const risky = /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e0fff}]/gu

export class Print {
  readonly #out: NodeJS.WriteStream
  readonly #err: NodeJS.WriteStream
  readonly #env: Env
  readonly #hasColour: boolean
  /** One JSON value a line, for programs. */
  readonly isJson: boolean

  constructor(out: NodeJS.WriteStream, err: NodeJS.WriteStream, env: Env, isJson = false) {
    this.#out = out
    this.#err = err
    this.#env = env
    this.isJson = isJson
    this.#hasColour = !isJson && wantsColour(env, out.isTTY)
  }

  /** Columns of the terminal; what is piped is never cut. */
  get width(): number {
    return this.#out.isTTY ? (this.#out.columns ?? 80) : Number.POSITIVE_INFINITY
  }

  /** Data. Resolves when it has left, with false where nobody reads any more. */
  line(text = ''): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(`${text}\n`, (error) => resolve(!error))
    })
  }

  json(value: unknown): Promise<boolean> {
    return this.line(JSON.stringify(value).replace(risky, escaped))
  }

  /** Data that is not ours to shape. */
  bytes(data: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => {
      this.#out.write(data, (error) => resolve(!error))
    })
  }

  /** One line that takes its own place, for a person who waits; with nothing to say it vanishes. */
  progress(text = ''): void {
    if (!this.#err.isTTY) return
    this.#err.write(`\r\u001b[K${shorten(text, (this.#err.columns ?? 80) - 1)}`)
  }

  /** Talk. */
  say(text: string): void {
    this.#err.write(`${this.typed(text)}\n`)
  }

  /** The commands in it as the person can type them here. */
  typed(text: string): string {
    return asTyped(text, this.#env)
  }

  paint(style: Style, text: string): string {
    return this.#hasColour && text !== '' ? `\u001b[${styles[style]}m${text}\u001b[0m` : text
  }

  /** The last column may be as long as it likes unless the terminal says otherwise. Cells must be clean. */
  table(columns: Column[], rows: string[][]): Promise<boolean> {
    const widths = fit(columns, rows, this.width)
    const whole = (cells: string[]) =>
      cells
        .map((cell, i) => pad(shorten(cell, widths[i] as number), widths[i] as number, columns[i]?.toTheRight))
        .join(gap)
        .trimEnd()
    // Where even the shrunk columns are too wide, the last ones are cut: a row that wraps is harder to read than a short one.
    const lineOf = (cells: string[]) => shorten(whole(cells), this.width)
    const isHeaded = columns.some(({ head }) => head !== '')
    const head = isHeaded ? [this.paint('dim', lineOf(columns.map((column) => column.head)))] : []
    return this.line([...head, ...rows.map(lineOf)].join('\n'))
  }

  /** `what` is said if the work is not done within a second. */
  async during<T>(what: string, work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.say(`${what} …`), patienceMs)
    try {
      return await work
    } finally {
      clearTimeout(timer)
    }
  }
}

function wantsColour(env: Env, isTerminal: boolean | undefined): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  return isTerminal === true && env.TERM !== 'dumb'
}

/** Natural widths; where they are too much, the widest column that may shrink gives way first. */
function fit(columns: Column[], rows: string[][], max: number): number[] {
  const widths = columns.map(({ head }, i) => Math.max(widthOf(head), ...rows.map((row) => widthOf(row[i] ?? ''))))
  const total = () => widths.reduce((sum, width) => sum + width, 0) + gap.length * (columns.length - 1)
  while (total() > max) {
    const shrinkable = widths.map((width, i) => (columns[i]?.mayShrink && width > shrunkColumnsMin ? width : 0))
    const widest = Math.max(...shrinkable)
    if (widest === 0) break
    widths[shrinkable.indexOf(widest)] = Math.max(shrunkColumnsMin, widest - Math.max(1, total() - max))
  }
  return widths
}

function escaped(text: string): string {
  return [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')
}
