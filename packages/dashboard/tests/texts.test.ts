// The letters of avatars, folded texts, and the sentence that a search shows: each is made from what agents wrote.

import { expect, test } from 'vitest'
import { excerptOf } from '../src/parts/excerpt.ts'
import { foldedBeginningOf } from '../src/parts/markdown-tree.ts'
import { avatarLettersOf } from '../src/store/avatar-letters.ts'

test.each([
  [
    ['Alice', 'Bob'],
    ['AL', 'BO'],
  ],
  [
    ['build-api', 'build-web'],
    ['BA', 'BW'],
  ],
  [
    ['Agent1', 'Agent2'],
    ['A1', 'A2'],
  ],
  [
    ['Agent001', 'Agent012', 'Agent020'],
    ['A0', 'A1', 'A2'],
  ],
  [
    ['Agent001', 'Agent101', 'Agent110'],
    ['00', '10', '11'],
  ],
  [
    ['Fixer', 'Finder', 'Zoe'],
    ['FX', 'FN', 'ZO'],
  ],
  [
    ['Bob', 'Bobby'],
    ['B', 'BB'],
  ],
  [
    ['a', '---'],
    ['A', '?'],
  ],
])('the avatars of %j differ', (names, letters) => {
  expect([...avatarLettersOf(names).values()]).toEqual(letters)
})

test('avatars of 500 agents differ, also where nobody planned for their names', () => {
  const names = Array.from({ length: 500 }, (_, i) => `worker-${String(i).padStart(3, '0')}`)
  expect(new Set(avatarLettersOf(names).values()).size).toBe(500)
})

const lines = (count: number, text = 'A line of words.'): string => `${text}\n\n`.repeat(count)
const code = `\`\`\`ts\n${'const a = 1\n'.repeat(60)}\`\`\``

test('a text is folded by the height of its place', () => {
  const text = lines(20)
  expect(foldedBeginningOf(text, { lines: 60, chars: 110 })).toBeUndefined()
  expect(foldedBeginningOf(text, { lines: 12, chars: 110 })?.split('\n').length).toBeLessThanOrEqual(12)
  expect(foldedBeginningOf('word '.repeat(200), { lines: 40, chars: 110 })).toBeUndefined()
})

test('code is never what a fold hides', () => {
  expect(foldedBeginningOf(`Look:\n\n${code}`)).toBeUndefined()
  const folded = foldedBeginningOf(`Look:\n\n${code}\n\n${lines(30)}`)
  expect(folded?.match(/const a/g)?.length).toBe(60)
  expect(folded).toMatch(/```$/)
  // Longer than what is searched for the end of the fold.
  const long = `\`\`\`\n${'x'.repeat(60)}\n`.repeat(1) + `${'y'.repeat(60)}\n`.repeat(120)
  expect(foldedBeginningOf(`Look:\n\n${long}\`\`\`\n\nAfter.\n\n${lines(30)}`)?.endsWith('```')).toBe(true)
})

test('a fold says no more than it hides, whatever the text is', () => {
  for (const text of [
    'x'.repeat(10_000),
    '```\n'.repeat(3_000),
    '> '.repeat(5_000),
    '\n'.repeat(9_000),
    '| a |\n'.repeat(900),
  ]) {
    const folded = foldedBeginningOf(text) ?? text
    expect(folded.length).toBeLessThanOrEqual(text.length)
    expect(text.startsWith(folded.trimEnd().slice(0, 50))).toBe(true)
  }
})

test.each([
  ['Nothing here. The **parser** is slow on quotes. And more.', 'parser', 'The [parser] is slow on quotes.'],
  ['First.\nThe PARSER, and the parsers.', 'pars*', 'The [PARSER], and the [parsers].'],
  ['We met at the café today.', 'cafe', 'We met at the [café] today.'],
  ['A very old bug was found.', '"old bug" found', 'A very [old bug] was [found].'],
  ['Only the beginning.', '', 'Only the beginning.'],
  ['Say (a.*b) and [x].', '.* (((', 'Say (a.*b) and [x].'],
  ['partly', 'part', 'partly'],
])('a search in %j for %j shows its sentence', (body, search, shown) => {
  const pieces = excerptOf(body, search)
  expect(pieces.map(({ text, isHit }) => (isHit ? `[${text}]` : text)).join('')).toBe(shown)
})

test('a hit far inside a long text is seen', () => {
  const body = `${'word '.repeat(2_000)}needle ${'word '.repeat(2_000)}`
  const pieces = excerptOf(body, 'needle')
  expect(pieces.find(({ isHit }) => isHit)?.text).toBe('needle')
  expect(pieces[0]?.text).toMatch(/^… word/)
  expect(pieces.map(({ text }) => text).join('').length).toBeLessThan(400)
})
