// A terminal screen that is drawn from a program's output while somebody needs to see it: first from the stored output, then from bytes as they arrive.

import { limitRepeatCounts } from '@agent-relay/sdk/protocol'
import type { Terminal } from '@xterm/headless'

/**
 * Number of bytes that are drawn without a pause for the event loop. Drawing some escape sequences takes a thousand times as long as their length
 * suggests.
 */
const pieceBytes = 1_024

export class Screen {
  readonly #terminal: Terminal
  #waitingBytes = 0

  private constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /**
   * Opens a screen. `answer` is called with the terminal's answers to a program's questions, such as what the terminal is or where the cursor stands;
   * not to questions in `past`, which were answered before.
   */
  static async open(
    size: { cols: number; rows: number },
    past: Uint8Array,
    answer: (data: string) => void,
  ): Promise<Screen> {
    const { default: library } = await import('@xterm/headless')
    // Lines that have left the screen are in the scrollback; a few are kept here for readers who want more than a screen.
    // Logging is off: the library would write twenty lines into the daemon's log for every invalid byte.
    const terminal = new library.Terminal({ ...size, scrollback: 1_000, allowProposedApi: true, logLevel: 'off' })
    limitRepeatCounts(terminal)
    const screen = new Screen(terminal)
    screen.#draw(past)
    terminal.write('', () => terminal.onData(answer))
    return screen
  }

  /** Bytes that are not drawn yet. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  write(data: Uint8Array): void {
    this.#waitingBytes += data.length
    this.#draw(data)
    this.#terminal.write('', () => {
      this.#waitingBytes -= data.length
    })
  }

  resize(cols: number, rows: number): void {
    this.#terminal.resize(cols, rows)
  }

  /**
   * Returns the screen's lines, without blank ones at the end, once everything written so far is drawn. `lines`: returns this many lines, also those
   * above the screen.
   */
  async lines(lines?: number): Promise<string[]> {
    await new Promise<void>((resolve) => this.#terminal.write('', resolve))
    const { active } = this.#terminal.buffer
    const bottom = active.baseY + this.#terminal.rows
    const top = lines === undefined ? active.baseY : 0
    const texts: string[] = []
    for (let y = top; y < bottom; y++) texts.push(active.getLine(y)?.translateToString(true) ?? '')
    while (texts.length > 0 && texts.at(-1) === '') texts.pop()
    return lines === undefined ? texts : texts.slice(-lines)
  }

  #draw(data: Uint8Array): void {
    for (let at = 0; at < data.length; at += pieceBytes) this.#terminal.write(data.subarray(at, at + pieceBytes))
  }

  dispose(): void {
    this.#terminal.dispose()
  }
}
