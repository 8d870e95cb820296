// The command line's treatment of a line of words, and of another terminal's output.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { TerminalFilter } from '../../src/cli/commands/workers/terminal-filter.ts'
import { splitCommandWords } from '../../src/cli/commands/workers/workers.ts'

describe('a command as words, without a shell', () => {
  test.each<[line: string, words: string[]]>([
    ['aider --yes', ['aider', '--yes']],
    [`sh -c 'echo "a  b"; ls'`, ['sh', '-c', 'echo "a  b"; ls']],
    ['a "b c"d\\ e', ['a', 'b cd e']],
    [`x "" ''`, ['x', '', '']],
    ['echo "say \\"hi\\"" $(id) `id` ; & |', ['echo', 'say "hi"', '$(id)', '`id`', ';', '&', '|']],
    ['  tab\tand\nline  ', ['tab', 'and', 'line']],
  ])('%s', (line, words) => expect(splitCommandWords(line)).toEqual(words))

  test.each(['', '   ', 'say "hi', "it's"])('%j is refused', (line) =>
    expect(() => splitCommandWords(line)).toThrow('--command'),
  )

  test('whatever is quoted comes back as it was', () => {
    const quoted = (word: string) => `'${word}'`
    const words = fc.array(
      fc.string().filter((text) => !text.includes("'")),
      { minLength: 1 },
    )
    fc.assert(
      fc.property(words, (list) => {
        expect(splitCommandWords(list.map(quoted).join(' '))).toEqual(list)
      }),
    )
  })
})

describe('what another terminal prints', () => {
  const passed = (...chunks: string[]) => {
    const filter = new TerminalFilter()
    return chunks.map((chunk) => filter.pass(chunk)).join('')
  }
  test.each<[what: string, text: string, kept: string]>([
    ['colours and drawing', '\u001b[31mred\u001b[0m\u001b[2J\u001b[H', '\u001b[31mred\u001b[0m\u001b[2J\u001b[H'],
    ['the clipboard', 'a\u001b]52;c;aGk=\u0007b', 'ab'],
    ['a title', 'a\u001b]0;evil\u001b\\b', 'ab'],
    ['a link', '\u001b]8;;http://x\u0007text\u001b]8;;\u0007', 'text'],
    ['a device string', 'a\u001bPq#0\u001b\\b', 'ab'],
    ['questions to the terminal', 'a\u001b[c\u001b[>0c\u001b[6n\u001b[?u\u001b[18tb', 'ab'],
    ['one in a single character', 'a\u009d52;c;x\u009cb', 'ab'],
    ['an open string swallows the rest', 'a\u001b]52;c;', 'a'],
  ])('%s', (_what, text, kept) => {
    expect(passed(text)).toBe(kept)
    // Cut at every place it is the same.
    for (let at = 1; at < text.length; at++) expect(passed(text.slice(0, at), text.slice(at))).toBe(kept)
  })
})
