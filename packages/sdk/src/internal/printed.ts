// A program's output inside a text of the daemon's own: cleaned, and two columns in, so that no line of it can pass for one of ours.

import { clean } from './clean.ts'

function indentedOutput(text: string): string {
  return clean(text).replace(/^/gm, '  ')
}

/** A worker's last screen, to be put behind a text. */
export function lastScreen(screen: string | undefined): string {
  return screen === undefined || screen.trim() === '' ? '' : `\nIts last screen:\n${indentedOutput(screen)}`
}

/** Splits a reason. Its first line is ours; behind it may be what a program has printed, such as a set-up command. */
export function reasonTexts(reason = ''): { why: string; printed: string } {
  const [first = '', ...rest] = reason.split('\n')
  const end = rest.join('\n').trim()
  if (end === '') return { why: first === '' ? '' : `: ${first}`, printed: '' }
  return { why: `: ${first.replace(/:$/, '')}`, printed: `\n${indentedOutput(end)}` }
}
