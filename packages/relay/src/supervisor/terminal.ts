// The contract of a terminal in which a program runs. The one implementation is pty.ts; what the bytes mean is decided elsewhere.

export interface Terminal {
  readonly pid: number
  /** Resolves when the terminal has taken all of it, or has ended. A program that does not read keeps it waiting; nothing else waits with it. */
  write(data: string): Promise<void>
  /** What a terminal says of itself when a program asks; dropped while too much waits: one that does not read may ask for ever. */
  answer(data: string): void
  /** Bytes that were written and not yet taken. */
  readonly waitingBytes: number
  resize(cols: number, rows: number): void
  onData(listener: (data: Uint8Array) => void): void
  /** After all its data. */
  onExit(listener: (exit: Exit) => void): void
}

export interface Exit {
  code: number
  signal?: number
}

export interface TerminalOptions {
  /** An absolute path: it is started as it is, never through a shell. */
  file: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  cols: number
  rows: number
}

export type OpenTerminal = (options: TerminalOptions) => Promise<Terminal>
