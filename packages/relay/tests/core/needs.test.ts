// The things that count as a need, and those that a person may dismiss.

import { isAddressedTo } from '@agent-relay/sdk/internal/mentions'
import { expect, test } from 'vitest'
import { compareUrgency, hasWorkerFailed, needKindOf } from '../../src/core/needs.ts'
import { CoreWorld, codeOf } from './core-world.ts'

test.each([
  ['@Ann: look', true, true],
  ['(@Ann)', true, true],
  ['ask @Ann.', true, true],
  ['Ann, may I?', false, true],
  ['is it Ann.', false, true],
  ['@Anna and not-@Ann', false, false],
  ['joe@Ann', false, false],
  ['Ann.b and Ann-2', false, false],
  ['src/Ann/x', false, false],
  ['ann', false, false],
  ['', false, false],
])('%j', (text, isMentioned, isNamed) => {
  const said = (kind: 'free' | 'question') => isAddressedTo('Ann', { kind, isDirect: false, body: () => text })
  expect([said('free'), said('question')]).toEqual([isMentioned, isNamed])
})

test.each([
  ['@Ann,Bob', 'free', 'Hello', 'mention'],
  ['@Ann,Bob', 'status', 'Done', undefined],
  // Whether it is still open is decided elsewhere.
  ['@Ann,Bob', 'question', 'May I?', undefined],
  ['#build', 'question', 'Ann?', 'question'],
  ['#build', 'question', 'Who?', undefined],
  ['#build', 'free', 'Ann is here', undefined],
  ['#build', 'free', '@Ann is here', 'mention'],
  ['#build', 'status', '@Ann is here', undefined],
  ['*', 'question', '@Ann?', 'question'],
] as const)('in %s, as %s: %s', (conversation, kind, body, asked) => {
  expect(needKindOf('Ann', { conversation, kind }, () => body)).toBe(asked)
})

const now = 1e12
test.each([
  [{ code: 1 }, true],
  [{ code: 0 }, false],
  [{ reason: 'ended by signal 9' }, true],
  [{ reason: 'released' }, false],
  [{ reason: 'the daemon was restarted' }, true],
  [{ reason: 'released: the daemon was restarted' }, false],
  [{ code: 0, reason: 'the daemon was stopped' }, true],
  [{ code: 1, changedAt: now - 25 * 3_600_000 }, true],
  [{ code: 1, changedAt: now - 8 * 24 * 3_600_000 }, false],
  [{ code: 1, status: 'blocked' as const }, false],
])('a worker with %j', (ended, isFailed) => {
  expect(hasWorkerFailed({ status: 'exited', changedAt: now, ...ended }, now)).toBe(isFailed)
})

test('the most urgent is first, then the oldest', () => {
  const [old, late] = ['2026-01-01', '2026-01-02']
  const needs = (['mention', 'failed', 'question', 'blocked', 'approval'] as const).flatMap((kind) => [
    { kind, since: late },
    { kind, since: old },
  ])
  expect(needs.sort(compareUrgency).map(({ kind, since }) => `${kind} ${since}`)).toEqual(
    ['approval', 'blocked', 'question', 'failed', 'mention'].flatMap((kind) => [`${kind} ${old}`, `${kind} ${late}`]),
  )
})

test('a person is done with what is theirs, and with nothing for which an agent stands still', () => {
  const world = new CoreWorld().cast('ada')
  const give = (key: string, by = 'ada') => world.give('need.dismiss', by, { key, through: 3 })
  expect(give('told:#general')).toMatchObject({
    facts: [{ type: 'need.dismissed', agent: 'ada', key: 'told:#general', through: 3 }],
  })
  expect(world.give('need.dismiss', 'ada', { key: 'told:#general' })).toMatchObject({ facts: [] })
  expect(codeOf(give('approval:ap-1'))).toBe('need.open')
  expect(codeOf(give('blocked:wk_1:5'))).toBe('need.open')
  expect(codeOf(give('told:#general', 'nobody'))).toBe('agent.required')
})

test('what was dismissed is there again after a rebuild, up to the last message that was seen', () => {
  const world = new CoreWorld().cast('ada', 'bob')
  for (const through of [5, 9, 2]) world.give('need.dismiss', 'ada', { key: 'told:#general', through })
  const dismissed = () => [...world.store.needs.dismissed('ada')]
  expect(dismissed()).toEqual([['told:#general', 9]])
  world.store.rebuild()
  expect(dismissed()).toEqual([['told:#general', 9]])
  expect(world.store.needs.isDismissed('bob', 'told:#general')).toBe(false)
})
