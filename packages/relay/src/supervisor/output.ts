// All that one program has printed: the last of it, who follows it, and a screen of it while one is needed.

import { StringDecoder } from 'node:string_decoder'
import type { Refusal } from '@agent-relay/sdk/protocol'
import type { Sink, Watch } from '../broker/sink.ts'
import { Marks } from './marks.ts'
import { Screen } from './screen.ts'
import { Scrollback } from './scrollback.ts'

/** Drawing is slower than printing: a screen that is this far behind is given up and made again when somebody looks. */
const behindBytesMax = 256 * 1024
/** A screen that nobody has looked at for this long goes. */
const lookedMs = 10_000
/** Enough of the past to draw a screen from: programs paint theirs again and again. Drawing takes a second for some megabytes. */
const drawnBytes = 256 * 1024
const itemBytesMax = 64 * 1024

export class Output {
  readonly #scrollback = new Scrollback()
  readonly #marks = new Marks()
  readonly #followers = new Set<Follower>()
  readonly #answer: (data: string) => void
  #size: { cols: number; rows: number }
  #screen: Promise<Screen> | undefined
  #drawn: Screen | undefined
  #forget: NodeJS.Timeout | undefined
  /** When it last printed, in milliseconds of the process's own clock; 0: never. */
  lastAt = 0

  constructor(size: { cols: number; rows: number }, answer: (data: string) => void) {
    this.#size = size
    this.#answer = answer
  }

  get title(): string {
    return this.#marks.title
  }

  /** Grows with every other title. */
  get titles(): number {
    return this.#marks.titles
  }

  /** The program understands the marks around a paste. */
  get isPasteMarked(): boolean {
    return this.#marks.isPasteMarked
  }

  /** Grows with every byte: two equal positions, and nothing was printed in between. */
  get position(): number {
    return this.#scrollback.end
  }

  push(data: Uint8Array): void {
    this.lastAt = performance.now()
    this.#scrollback.push(data)
    this.#marks.follow(data)
    this.#drawn?.write(data)
    if ((this.#drawn?.waitingBytes ?? 0) > behindBytesMax) this.#dropScreen()
    for (const follower of this.#followers) follower.pump()
  }

  /** What a person sees at the bottom of the screen now; more than a screen, if more lines are asked for. */
  async lines(lines?: number): Promise<string[]> {
    clearTimeout(this.#forget)
    this.#forget = setTimeout(() => this.#dropScreen(), lookedMs)
    this.#forget.unref()
    this.#screen ??= this.#openScreen()
    return (await this.#screen).lines(lines)
  }

  /** Draws no more until somebody looks. */
  rest(): void {
    this.#dropScreen()
  }

  resize(cols: number, rows: number): void {
    this.#size = { cols, rows }
    this.#drawn?.resize(cols, rows)
  }

  follow(sink: Sink): Pick<Watch, 'drained' | 'stop'> {
    const follower = new Follower(this.#scrollback, sink)
    this.#followers.add(follower)
    // The answer that the watch has begun goes first.
    setImmediate(() => follower.pump())
    return { drained: () => follower.pump(), stop: () => this.#followers.delete(follower) }
  }

  /** It prints no more. */
  end(why: Refusal): void {
    for (const follower of this.#followers) follower.end(why)
    this.#followers.clear()
    clearTimeout(this.#forget)
    this.#dropScreen()
  }

  async #openScreen(): Promise<Screen> {
    const from = this.#scrollback.end
    const screen = await Screen.open(this.#size, this.#scrollback.read(from - drawnBytes), (data) => {
      // One that was given up answers no more.
      if (this.#drawn === screen) this.#answer(data)
    })
    // Printed while the library was being loaded.
    if (this.#scrollback.end > from) screen.write(this.#scrollback.read(from))
    this.#drawn = screen
    return screen
  }

  #dropScreen(): void {
    const dropped = this.#screen
    this.#screen = undefined
    this.#drawn = undefined
    // Whoever is looking at it gets an answer first.
    void dropped?.then((screen) => screen.lines().then(() => screen.dispose()))
  }
}

/** One who watches. It reads from the scrollback at its own pace; what has left the scrollback by then it has missed. */
class Follower {
  readonly #scrollback: Scrollback
  readonly #sink: Sink
  readonly #decoder = new StringDecoder('utf8')
  readonly #pastEnd: number
  #at: number
  #isOver = false

  constructor(scrollback: Scrollback, sink: Sink) {
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
