// Limits repetitions when a worker's terminal output is drawn: some escape sequences contain a number of repetitions, and carrying out two thousand million of
// them would take hours. A sequence that repeats more often than the screen has rows or columns is dropped; no program needs it.

/**
 * Escape sequences with a repetition count, by their last character: insert, delete and scroll lines, repeat a character, tab forward and back. The value is
 * the side of the screen that limits the count.
 */
const repeated = { L: 'rows', M: 'rows', S: 'rows', T: 'rows', b: 'cols', I: 'cols', Z: 'cols' } as const

/** The part of xterm's terminal that this file uses, in the browser and in the daemon. */
interface CountingTerminal {
  readonly rows: number
  readonly cols: number
  readonly parser: {
    registerCsiHandler(sequence: { final: string }, handler: (counts: (number | number[])[]) => boolean): unknown
  }
}

export function limitRepeatCounts(terminal: CountingTerminal): void {
  // If a handler returns true, the terminal counts the sequence as done and does nothing.
  for (const [final, side] of Object.entries(repeated))
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > terminal[side])
}
