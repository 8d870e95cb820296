// Shows a program's output inside a text of the daemon: cleaned, and indented by two columns, so that no line of the output can pass for one of the daemon's
// own.

import { clean } from './clean.ts'

function indentedOutput(text: string): string {
  return clean(text).replace(/^/gm, '  ')
}

/** Formats a worker's last screen, to be appended to a text; empty if the screen is empty. */
export function lastScreenText(screen: string | undefined): string {
  return screen === undefined || screen.trim() === '' ? '' : `\nIts last screen:\n${indentedOutput(screen)}`
}

/** Splits a reason into its first line, which the daemon wrote, and the rest, which a program such as a set-up command has printed. */
export function splitReason(reason = ''): { why: string; printed: string } {
  const [first = '', ...rest] = reason.split('\n')
  const end = rest.join('\n').trim()
  if (end === '') return { why: first === '' ? '' : `: ${first}`, printed: '' }
  return { why: `: ${first.replace(/:$/, '')}`, printed: `\n${indentedOutput(end)}` }
}
