// A command line as words: quotes and backslashes as people write them, and no shell, so that nothing in it is ever run.

import { CommandError, exits } from './command.ts'

export function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const char = line[at] as string
    const isQuote = quote === '' ? char === '"' || char === "'" : char === quote
    if (char === '\\' && quote !== "'" && at + 1 < line.length) word = (word ?? '') + line[++at]
    else if (isQuote) {
      quote = quote === '' ? char : ''
      word ??= ''
    } else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + char
  }
  if (word !== undefined) words.push(word)
  if (quote !== '') throw new CommandError(`--command: the quote ${quote} is never closed.`, exits.usage)
  if (words.length === 0) throw new CommandError('--command names no program.', exits.usage)
  return words
}
