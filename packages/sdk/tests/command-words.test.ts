// Splits a line that a person typed into the words of a command, in the CLI and on the page.

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { openQuoteOf, shellQuote, splitCommandLine } from '../src/internal/command-words.ts'

test.each<[line: string, words: string[]]>([
  ['node agent.js  --watch', ['node', 'agent.js', '--watch']],
  [`bash -c 'echo "hello there"; cat'`, ['bash', '-c', 'echo "hello there"; cat']],
  [String.raw`bash -c "echo \"hello there\"; cat"`, ['bash', '-c', 'echo "hello there"; cat']],
  [String.raw`printf "a\n" two\ words`, ['printf', String.raw`a\n`, 'two words']],
  [`run --name="two words" a'b c'd ""`, ['run', '--name=two words', 'ab cd', '']],
  [`it's open`, ["it's", 'open']],
  ['   ', []],
])('%s', (line, words) => {
  expect(splitCommandLine(line)).toEqual(words)
})

test.each<[line: string, quote: string | undefined]>([
  [`say "hi`, '"'],
  [`it's`, "'"],
  [`"it's" fine`, undefined],
  [String.raw`\" and "\"" too`, undefined],
  ['plain', undefined],
])('a quote that is never closed: %s', (line, quote) => {
  expect(openQuoteOf(line)).toBe(quote)
})

test.each(['plain', '/a/b-c.d', 'two words', "it's", '', '$(id) `id` "$HOME" \\', '-n', 'line\nline', '~', '*', 'ä'])(
  'a shell and we take a quoted word as it was: %j',
  (word) => {
    const line = shellQuote(word)
    expect(execFileSync('sh', ['-c', `printf '%s' ${line}`], { encoding: 'utf8' })).toBe(word)
    expect(splitCommandLine(line)).toEqual([word])
  },
)
