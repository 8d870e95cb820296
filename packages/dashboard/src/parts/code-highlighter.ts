// Finds the colours of code in a worker thread: for some texts the grammars take time quadratic in the length, and a message must not block the page. A text
// that takes too long gets no colours. The grammars are in highlight.ts; the thread is colours-thread.ts.

import type { CodeNode } from './highlight.ts'

/** The time limit for one text; a screenful of code takes a few milliseconds. */
const colourMs = 300

export interface HighlightRequest {
  code: string
  language: string
}

export type HighlightAnswer = { isReady: true } | { nodes: readonly CodeNode[] | undefined }

/** The members of a browser's Worker that this file uses. */
export interface HighlightThread {
  onmessage: ((event: { data: HighlightAnswer }) => void) | null
  onerror: ((event: never) => void) | null
  postMessage(asked: HighlightRequest): void
  terminate(): void
}

interface Waiting {
  asked: HighlightRequest
  done(nodes: readonly CodeNode[] | undefined): void
}

export class CodeHighlighter {
  readonly #start: () => HighlightThread
  readonly #waiting: Waiting[] = []
  #thread: HighlightThread | undefined
  #isReady = false
  #alarm: ReturnType<typeof setTimeout> | undefined

  constructor(start: () => HighlightThread) {
    this.#start = start
  }

  /** Finds the colours of a text; undefined if the language is unknown or the search takes too long. */
  of(asked: HighlightRequest): Promise<readonly CodeNode[] | undefined> {
    return new Promise((done) => {
      this.#waiting.push({ asked, done })
      if (this.#waiting.length === 1) this.#next()
    })
  }

  /**
   * Sends one text at a time to the thread, so that the time limit always ends the text for which it was set. The time in which the thread is loaded does
   * not count.
   */
  #next(): void {
    const [first] = this.#waiting
    if (!first) return
    this.#thread ??= this.#load()
    if (!this.#isReady) return
    this.#thread.postMessage(first.asked)
    this.#alarm = setTimeout(() => this.#giveUp(), colourMs)
  }

  #load(): HighlightThread {
    const thread = this.#start()
    thread.onmessage = ({ data }) => {
      if (this.#thread !== thread) return
      if ('nodes' in data) return this.#answer(data.nodes)
      this.#isReady = true
      this.#next()
    }
    thread.onerror = () => this.#thread === thread && this.#giveUp()
    return thread
  }

  /** Ends the thread, which may never finish its text; the next text gets a new thread. */
  #giveUp(): void {
    this.#thread?.terminate()
    this.#thread = undefined
    this.#isReady = false
    this.#answer(undefined)
  }

  #answer(nodes: readonly CodeNode[] | undefined): void {
    clearTimeout(this.#alarm)
    this.#waiting.shift()?.done(nodes)
    this.#next()
  }
}
