// The output of one program: its last part as bytes, the clients that follow it, and a screen that is drawn from it while somebody needs the screen.

import { StringDecoder } from 'node:string_decoder'
import type { Refusal } from '@agent-relay/sdk/protocol'
import type { Watch, WatchItemSink } from '../broker/workers/worker-runtime.ts'
import { Screen } from './screen.ts'

/**
 * Maximum number of bytes by which the drawn screen may lag behind the output. Then it is dropped, and drawn again when somebody reads it: drawing is
 * slower than printing.
 */
const undrawnBytesMax = 256 * 1024
/** Time after which a screen that nobody reads is dropped. */
const unwatchedScreenMs = 10_000
/**
 * Number of past bytes from which a screen is drawn. They are enough, since programs repaint their screens often; drawing megabytes would take a
 * second.
 */
const drawnBytes = 256 * 1024
const itemBytesMax = 64 * 1024

export class ProgramOutput {
  readonly #scrollback = new Scrollback()
  readonly #marks = new TerminalSettings()
  readonly #followers = new Set<Follower>()
  readonly #answer: (data: string) => void
  #size: { cols: number; rows: number }
  #screen: Promise<Screen> | undefined
  #drawn: Screen | undefined
  #forget: NodeJS.Timeout | undefined
  /** Time of the last output, in milliseconds of the monotonic clock; 0: there was no output yet. */
  lastOutputAt = 0

  constructor(size: { cols: number; rows: number }, answer: (data: string) => void) {
    this.#size = size
    this.#answer = answer
  }

  get title(): string {
    return this.#marks.title
  }

  /** A counter that grows with every change of the title. */
  get titleChanges(): number {
    return this.#marks.titleChanges
  }

  /** Whether the program understands marks around a paste (bracketed paste). */
  get supportsPasteMarks(): boolean {
    return this.#marks.supportsPasteMarks
  }

  /** A counter that grows with every byte: between two equal positions nothing was printed. */
  get position(): number {
    return this.#scrollback.end
  }

  push(data: Uint8Array): void {
    this.lastOutputAt = performance.now()
    this.#scrollback.push(data)
    this.#marks.follow(data)
    this.#drawn?.write(data)
    if ((this.#drawn?.waitingBytes ?? 0) > undrawnBytesMax) this.#dropScreen()
    for (const follower of this.#followers) follower.pump()
  }

  /** Returns the visible lines of the screen. `lines`: returns this many lines from the bottom instead, also those above the screen. */
  async lines(lines?: number): Promise<string[]> {
    clearTimeout(this.#forget)
    this.#forget = setTimeout(() => this.#dropScreen(), unwatchedScreenMs)
    this.#forget.unref()
    this.#screen ??= this.#openScreen()
    return (await this.#screen).lines(lines)
  }

  /** Stops drawing the screen until somebody reads it. */
  stopDrawing(): void {
    this.#dropScreen()
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#drawn?.resize(cols, rows)
  }

  follow(sink: WatchItemSink): Pick<Watch, 'drained' | 'stop'> {
    const follower = new Follower(this.#scrollback, sink)
    this.#followers.add(follower)
    // The first output is sent later, so that the answer to the call that began the watch goes first.
    setImmediate(() => follower.pump())
    return { drained: () => follower.pump(), stop: () => this.#followers.delete(follower) }
  }

  /** Ends the watches of all followers: the program will not print any more. */
  end(why: Refusal): void {
    for (const follower of this.#followers) follower.end(why)
    this.#followers.clear()
    clearTimeout(this.#forget)
    this.#dropScreen()
  }

  async #openScreen(): Promise<Screen> {
    const from = this.#scrollback.end
    const screen = await Screen.open(this.#size, this.#scrollback.read(from - drawnBytes), (data) => {
      // A screen that was dropped must not answer the program's questions any more.
      if (this.#drawn === screen) this.#answer(data)
    })
    // Adds the output that the program has printed while the terminal library was being loaded.
    if (this.#scrollback.end > from) screen.write(this.#scrollback.read(from))
    this.#drawn = screen
    return screen
  }

  #dropScreen(): void {
    const dropped = this.#screen
    this.#screen = undefined
    this.#drawn = undefined
    // Whoever is waiting for lines of this screen gets them before the screen is disposed of.
    void dropped?.then(async (screen) => {
      // The screen may have been dropped before it was stored in `#drawn`.
      if (this.#drawn === screen) this.#drawn = undefined
      await screen.lines()
      screen.dispose()
    })
  }
}

/** A client that follows the output at its own pace. It misses output that has left the scrollback before it is sent. */
class Follower {
  readonly #scrollback: Scrollback
  readonly #sink: WatchItemSink
  readonly #decoder = new StringDecoder('utf8')
  readonly #pastEnd: number
  #at: number
  #isOver = false

  constructor(scrollback: Scrollback, sink: WatchItemSink) {
    this.#scrollback = scrollback
    this.#sink = sink
    this.#pastEnd = scrollback.end
    this.#at = scrollback.start
  }

  pump(): void {
    while (!this.#isOver && this.#sink.isReady() && this.#at < this.#scrollback.end) {
      this.#at = Math.max(this.#at, this.#scrollback.start)
      const isPast = this.#at < this.#pastEnd
      const bytes = this.#scrollback.read(
        this.#at,
        isPast ? Math.min(itemBytesMax, this.#pastEnd - this.#at) : itemBytesMax,
      )
      this.#at += bytes.length
      const data = this.#decoder.write(bytes)
      if (data !== '') this.#sink.item(isPast ? { data, isPast } : { data })
    }
  }

  end(why: Refusal): void {
    this.pump()
    this.#isOver = true
    this.#sink.end(why)
  }
}

export const scrollbackBytesMax = 2 * 1024 * 1024
/** First size of the ring buffer, which doubles as needed: most programs print little. */
const startBytes = 16 * 1024

/** The last part of a program's output, in a ring buffer of limited size. Positions count from the first byte ever printed. */
export class Scrollback {
  readonly #bytesMax: number
  #ring = Buffer.alloc(0)
  #end = 0
  #kept = 0

  constructor(bytesMax = scrollbackBytesMax) {
    this.#bytesMax = bytesMax
  }

  /** The position after the last byte that was printed. */
  get end(): number {
    return this.#end
  }

  /** The position of the first byte that is still kept. */
  get start(): number {
    return this.#end - this.#kept
  }

  push(data: Uint8Array): void {
    const skipped = Math.max(0, data.length - this.#bytesMax)
    this.#fit(this.#kept + data.length)
    const size = this.#ring.length
    const fresh = data.subarray(skipped)
    const at = (this.#end + skipped) % size
    const first = Math.min(fresh.length, size - at)
    this.#ring.set(fresh.subarray(0, first), at)
    this.#ring.set(fresh.subarray(first), 0)
    this.#end += data.length
    this.#kept = Math.min(this.#kept + data.length, size)
  }

  /** Returns a copy of at most `bytesMax` bytes, from a position or, if that was dropped already, from the first byte that is kept. */
  read(from: number, bytesMax = this.#bytesMax): Buffer {
    const begin = Math.max(from, this.start)
    const length = Math.max(0, Math.min(this.#end - begin, bytesMax))
    const at = length === 0 ? 0 : begin % this.#ring.length
    const first = this.#ring.subarray(at, at + length)
    return Buffer.concat([first, this.#ring.subarray(0, length - first.length)])
  }

  #fit(bytes: number): void {
    let size = this.#ring.length || startBytes
    while (size < bytes && size < this.#bytesMax) size *= 2
    size = Math.min(size, this.#bytesMax)
    if (size === this.#ring.length) return
    const kept = this.read(this.start)
    this.#ring = Buffer.alloc(size)
    const at = (this.#end - kept.length) % size
    const first = Math.min(kept.length, size - at)
    this.#ring.set(kept.subarray(0, first), at)
    this.#ring.set(kept.subarray(first), 0)
  }
}

const esc = '\x1b'
const settingSequence = new RegExp(
  [`${esc}\\](?:0|2);([^\x07${esc}]*)(?:\x07|${esc}\\\\)`, `${esc}\\[\\?([\\d;]*)([hl])`, `${esc}c`].join('|'),
  'g',
)
/** Maximum number of characters in an escape sequence that sets a title or a mode; a longer one is invalid. */
const settingCharsMax = 1_024
const bracketedPaste = '2004'

/**
 * Two settings that a program makes in its terminal and that must be known without drawing a screen: its title, and whether it understands bracketed
 * paste.
 */
export class TerminalSettings {
  title = ''
  /** How many times the title has changed, so that a title that came and went is noticed. */
  titleChanges = 0
  supportsPasteMarks = false
  #rest = ''

  follow(data: Uint8Array): void {
    // Most output contains no escape sequence, so it need not be searched.
    if (this.#rest === '' && data.indexOf(0x1b) < 0) return
    const text = this.#rest + Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1')
    let end = 0
    for (const found of text.matchAll(settingSequence)) {
      end = found.index + found[0].length
      const [whole, title, modes, set] = found
      if (title !== undefined) this.#entitle(Buffer.from(title, 'latin1').toString('utf8'))
      else if (modes?.split(';').includes(bracketedPaste)) this.supportsPasteMarks = set === 'h'
      else if (whole === `${esc}c`) this.supportsPasteMarks = false
    }
    // An escape sequence may have been cut in two: its beginning is kept until the rest comes.
    const open = text.indexOf(esc, Math.max(end, text.length - settingCharsMax))
    this.#rest = open < 0 ? '' : text.slice(open)
  }

  #entitle(title: string): void {
    if (title !== this.title) this.titleChanges++
    this.title = title
  }
}
