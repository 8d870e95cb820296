// Limits repetitions when a worker's output is drawn: a terminal carries out some escape sequences as often as a program asks for in one go, and two thousand
// million times take hours. A repetition beyond the width or height of the screen is dropped; no program needs more.

/** The escape sequences that insert, delete and scroll lines, repeat a character, and tab forward and back, by their last character. */
const repeated = { L: 'rows', M: 'rows', S: 'rows', T: 'rows', b: 'cols', I: 'cols', Z: 'cols' } as const

/** The part of xterm's terminal that this file uses; both the terminal in the browser and the headless one have it. */
interface CountingTerminal {
  readonly rows: number
  readonly cols: number
  readonly parser: {
    registerCsiHandler(sequence: { final: string }, handler: (counts: (number | number[])[]) => boolean): unknown
  }
}

export function boundRepeats(terminal: CountingTerminal): void {
  // A handler that returns true has handled the sequence, so the terminal ignores it.
  for (const [final, side] of Object.entries(repeated))
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > terminal[side])
}
