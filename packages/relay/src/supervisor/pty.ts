// Runs a program in a terminal of its own: the contract, and its one implementation, a pseudo-terminal with its own session and process group. No
// other file names the PTY library, which is loaded when the first worker starts, so that an idle daemon stays small.

import { writeSync } from 'node:fs'
import { constants } from 'node:os'

/** A terminal in which a program runs. Other files interpret what the program prints. */
export interface Terminal {
  readonly pid: number
  /** Resolves when the terminal has taken everything, or has ended. A program that does not read delays only the writes to its own terminal. */
  write(data: string): Promise<void>
  /**
   * Answers a question that the program asked its terminal. The answer is dropped while too many bytes wait: a program that does not read may ask for
   * ever.
   */
  answer(data: string): void
  /** Number of bytes that were written and that the terminal has not taken yet. */
  readonly waitingBytes: number
  resize(cols: number, rows: number): void
  onData(listener: (data: Uint8Array) => void): void
  /** Calls the listener when the program has exited, after all data. */
  onExit(listener: (exit: ProgramExit) => void): void
}

export interface ProgramExit {
  code: number
  signal?: number
}

/** Returns an exit, from the arguments of Node's `exit` event. */
export function programExitOf(code: number | null, signal: NodeJS.Signals | null): ProgramExit {
  return signal === null ? { code: code ?? 0 } : { code: 0, signal: constants.signals[signal] }
}

export interface TerminalOptions {
  /** An absolute path: the file is started as it is, never through a shell. */
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  cols: number
  rows: number
}

export type OpenTerminal = (options: TerminalOptions) => Promise<Terminal>

/** Fields of the PTY library's objects that the library's types do not declare. */
interface PtyInternals {
  fd?: number
  _socket?: { readonly destroyed: boolean }
}

/** Maximum number of bytes in one write; the kernel's own buffer is smaller. */
const sliceBytes = 64 * 1024
/** Number of waiting bytes above which answers are dropped: more than any paste that may be under way when the program asks. */
const answersBytesMax = 512 * 1024
/** Delays in milliseconds between attempts to write: usually a program reads at once, but it may be stopped for hours. */
const waitsMs = [1, 1, 1, 2, 2, 5, 5, 10, 20, 50]

export async function openPty({ file, args, cwd, env, cols, rows }: TerminalOptions): Promise<Terminal> {
  const { default: library } = await import('@lydell/node-pty')
  // Output comes as bytes, not as text, since most of it is only stored.
  const pty = library.spawn(file, [...args], { name: env.TERM, cwd, env: { ...env }, cols, rows, encoding: null })
  const inside = pty as unknown as PtyInternals
  const isOpen = () => inside._socket?.destroyed !== true
  const queue = new WriteQueue((data) => {
    if (inside.fd !== undefined) return writeSync(inside.fd, data, 0, Math.min(data.length, sliceBytes))
    pty.write(data as unknown as string)
    return data.length
  }, isOpen)
  pty.onExit(() => queue.end())
  return {
    pid: pty.pid,
    write: (data) => queue.write(data),
    answer: (data) => {
      if (queue.waitingBytes < answersBytesMax) void queue.write(data)
    },
    get waitingBytes() {
      return queue.waitingBytes
    },
    resize(columns, lines) {
      if (isOpen()) pty.resize(columns, lines)
    },
    onData: (listener) => void pty.onData((data) => listener(data as unknown as Uint8Array)),
    onExit: (listener) =>
      void pty.onExit(({ exitCode, signal }) =>
        listener({ code: exitCode, signal: signal || undefined } as ProgramExit),
      ),
  }
}

/**
 * Writes to the terminal without blocking. The library's own write spins, and blocks the whole daemon, as long as a program does not read. Bytes that
 * the terminal does not take now are tried again later. Each write is synchronous: before an asynchronous one ends, the descriptor may be closed and
 * belong to another file.
 */
class WriteQueue {
  readonly #put: (data: Uint8Array) => number
  readonly #isOpen: () => boolean
  readonly #waiting: { data: Uint8Array; done: () => void }[] = []
  #timer: NodeJS.Timeout | undefined
  #tries = 0
  waitingBytes = 0

  constructor(put: (data: Uint8Array) => number, isOpen: () => boolean) {
    this.#put = put
    this.#isOpen = isOpen
  }

  write(text: string): Promise<void> {
    const data = Buffer.from(text)
    this.waitingBytes += data.length
    return new Promise((done) => {
      this.#waiting.push({ data, done })
      if (this.#timer === undefined) this.#flush()
    })
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.waitingBytes = 0
    for (const { done } of this.#waiting.splice(0)) done()
  }

  #flush(): void {
    this.#timer = undefined
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const taken = this.#take(first.data)
      if (taken === undefined) return this.end()
      this.waitingBytes -= taken
      first.data = first.data.subarray(taken)
      if (first.data.length > 0 && taken === 0) return this.#later()
      this.#tries = 0
      if (first.data.length > 0) continue
      this.#waiting.shift()
      first.done()
    }
  }

  /** Writes as much as the terminal takes. Returns the number of bytes; undefined once the terminal has closed. */
  #take(data: Uint8Array): number | undefined {
    if (!this.#isOpen()) return undefined
    try {
      return data.length === 0 ? 0 : this.#put(data)
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : undefined
    }
  }

  #later(): void {
    const ms = waitsMs[Math.min(this.#tries++, waitsMs.length - 1)]
    this.#timer = setTimeout(() => this.#flush(), ms)
    this.#timer.unref()
  }
}
