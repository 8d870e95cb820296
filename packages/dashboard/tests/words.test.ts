// How a line of the spawn form becomes a command.

import { expect, test } from 'vitest'
import { wordsOf } from '../src/parts/words.ts'

test.each<[line: string, words: string[]]>([
  ['node agent.js  --watch', ['node', 'agent.js', '--watch']],
  [`bash -c 'echo "hello there"; cat'`, ['bash', '-c', 'echo "hello there"; cat']],
  [String.raw`bash -c "echo \"hello there\"; cat"`, ['bash', '-c', 'echo "hello there"; cat']],
  [String.raw`printf "a\n" two\ words`, ['printf', String.raw`a\n`, 'two words']],
  [`run --name="two words" a'b c'd ""`, ['run', '--name=two words', 'ab cd', '']],
  [`it's open`, ["it's", 'open']],
  ['   ', []],
])('%s', (line, words) => {
  expect(wordsOf(line)).toEqual(words)
})
