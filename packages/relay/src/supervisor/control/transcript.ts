// The display of an agent that has no terminal: its conversation, and below it one line to type in. It is written as terminal output, so that clients
// can attach to it, log it and show it like a terminal.

import { clean } from '@agent-relay/sdk/internal/clean'
import type { ProgramOutput } from '../output.ts'

export interface TranscriptInputListener {
  /** Called with a line that was entered. */
  onLine(text: string): void
  /** Called when Ctrl-C was pressed at an empty line. */
  onCancel(): void
}

/** Maximum number of characters of one printed text; the rest is cut off. */
const pieceCharsMax = 64 * 1024
/** Maximum number of lines of a prompt that are shown. */
const shownLinesMax = 40
/** Maximum number of characters in the input line. */
const inputCharsMax = 64 * 1024
const [dim, bold, plain] = ['\x1b[2m', '\x1b[1m', '\x1b[0m']
const [clearLine, markPastes, prompt] = ['\r\x1b[K', '\x1b[?2004h', '> ']
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters.
const keys = /\x1b\[200~|\x1b\[201~|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]?|[\s\S]/gu

export class Transcript {
  readonly #output: ProgramOutput
  readonly #typist: TranscriptInputListener
  #cols = 120
  #input = ''
  #isPasting = false
  #isIdle = false
  /** Whether the input line is drawn; the cursor is then in it. */
  #isDrawn = false
  /** The last, unfinished line of printed text, which is kept back while the input line is drawn. */
  #rest = ''
  #isAtMargin = true
  #style = ''

  constructor(output: ProgramOutput, typist: TranscriptInputListener) {
    this.#output = output
    this.#typist = typist
    this.#write(markPastes)
  }

  resize(cols: number): void {
    this.#cols = cols
  }

  /** Sets whether the agent waits for input. The input line is shown while it does, and while somebody types. */
  setIdle(isIdle: boolean): void {
    if (isIdle) this.#endLine()
    this.#isIdle = isIdle
    this.#draw()
  }

  /** Prints a part of a text that comes in parts: the agent's answer, or its thoughts. */
  printStream(text: string, style: 'said' | 'thought' = 'said'): void {
    const wanted = style === 'thought' ? dim : ''
    if (wanted !== this.#style) this.#endLine()
    this.#style = wanted
    this.#print(cut(clean(text)))
  }

  /** Prints whole lines. */
  printLines(text: string, style: 'note' | 'strong' = 'note'): void {
    this.#endLine()
    this.#style = style === 'strong' ? bold : dim
    this.#print(`${cut(clean(text))}\n`)
    this.#style = ''
  }

  /** Prints a prompt that the agent was given. */
  printPrompt(text: string): void {
    const lines = text.split('\n')
    const more = lines.length - shownLinesMax
    this.printLines(more > 0 ? [...lines.slice(0, shownLinesMax), `… ${more} more lines`].join('\n') : text, 'strong')
  }

  type(data: string): void {
    for (const [key] of data.matchAll(keys)) this.#press(key)
    this.#draw()
  }

  #press(key: string): void {
    if (key === '\x1b[200~' || key === '\x1b[201~') this.#isPasting = key === '\x1b[200~'
    else if (this.#isPasting && (key === '\r' || key === '\n')) this.#input += '\n'
    else if (key === '\r' || key === '\n') this.#enter()
    else if (key === '\x7f' || key === '\b') this.#input = [...this.#input].slice(0, -1).join('')
    else if (key === '\x15') this.#input = ''
    else if (key === '\x03' && this.#input === '') this.#typist.onCancel()
    else if (key === '\x03') this.#input = ''
    else if (!key.startsWith('\x1b') && this.#input.length < inputCharsMax) this.#input += clean(key)
  }

  #enter(): void {
    const text = this.#input.trim()
    this.#input = ''
    if (text !== '') this.#typist.onLine(text)
  }

  #endLine(): void {
    if (this.#rest !== '' || !this.#isAtMargin) this.#print('\n')
  }

  #print(text: string): void {
    if (!this.#isDrawn) return this.#put(text)
    const all = this.#rest + text
    const end = all.length > pieceCharsMax ? all.length : all.lastIndexOf('\n') + 1
    this.#rest = all.slice(end)
    if (end === 0) return
    this.#erase()
    this.#put(all.slice(0, end))
    this.#draw()
  }

  #erase(): void {
    if (!this.#isDrawn) return
    this.#isDrawn = false
    this.#write(clearLine)
  }

  #put(text: string): void {
    if (text === '') return
    const lines = text.replaceAll('\n', '\r\n')
    this.#write(this.#style === '' ? lines : `${this.#style}${lines}${plain}`)
    this.#isAtMargin = text.endsWith('\n')
  }

  #draw(): void {
    const isWanted = this.#isIdle || this.#input !== ''
    this.#erase()
    if (!isWanted) {
      const rest = this.#rest
      this.#rest = ''
      return this.#put(rest)
    }
    if (!this.#isAtMargin) this.#put('\n')
    const room = Math.max(8, this.#cols - prompt.length - 2)
    const shown = this.#input.replaceAll('\n', '⏎').slice(-room)
    this.#write(prompt + shown)
    this.#isDrawn = true
  }

  #write(text: string): void {
    this.#output.push(Buffer.from(text))
  }
}

function cut(text: string): string {
  return text.length > pieceCharsMax ? `${text.slice(0, pieceCharsMax)} …` : text
}
