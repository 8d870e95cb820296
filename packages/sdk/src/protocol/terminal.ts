// Limits for a worker's output where it is drawn: a terminal does some things as often as a program says, in one go, and two thousand million times take
// hours. They are not done more often than the screen is wide or high; nothing that a program means needs more.

/** The sequences that insert, delete and scroll lines, repeat a character, and tab forward and back, by their last character. */
const repeated = { L: 'rows', M: 'rows', S: 'rows', T: 'rows', b: 'cols', I: 'cols', Z: 'cols' } as const

/** The part of xterm's terminal that is needed here, with a screen or without. */
interface CountingTerminal {
  readonly rows: number
  readonly cols: number
  readonly parser: {
    registerCsiHandler(sequence: { final: string }, handler: (counts: (number | number[])[]) => boolean): unknown
  }
}

export function boundRepeats(terminal: CountingTerminal): void {
  // A handler that returns true has dealt with the sequence, so that the terminal does not.
  for (const [final, side] of Object.entries(repeated))
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > terminal[side])
}
