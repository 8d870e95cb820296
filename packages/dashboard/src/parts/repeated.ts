// What a terminal does as often as a program says, in one go and while the whole page waits: it is not done more often than a screen is wide or high.

import type { Terminal } from '@xterm/xterm'

/** Insert, delete and scroll lines, repeat a character, tab forward and back. */
const repeated = { L: 'rows', M: 'rows', S: 'rows', T: 'rows', b: 'cols', I: 'cols', Z: 'cols' } as const

export function boundRepeated(terminal: Terminal): void {
  // True: it is dealt with.
  for (const [final, side] of Object.entries(repeated))
    terminal.parser.registerCsiHandler({ final }, ([count]) => Number(count) > terminal[side])
}
