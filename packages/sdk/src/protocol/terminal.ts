// What whoever draws a worker's output must not take at its word: a terminal does some things as often as a program says, in one go, and
// two thousand million times take hours. They are not done more often than the screen is wide or high; nothing that a program means needs more.

/** Insert, delete and scroll lines, repeat a character, tab forward and back: by the last character of their sequence. */
const repeated = { L: 'rows', M: 'rows', S: 'rows', T: 'rows', b: 'cols', I: 'cols', Z: 'cols' } as const

/** As much of xterm's terminal as is needed, with a screen or without. */
interface CountingTerminal {
  readonly rows: number
  readonly cols: number
  readonly parser: {
    registerCsiHandler(sequence: { final: string }, handler: (counts: (number | number[])[]) => boolean): unknown
  }
}

export function boundRepeats(terminal: CountingTerminal): void {
  // True: it is dealt with.
  for (const [final, side] of Object.entries(repeated))
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > terminal[side])
}
