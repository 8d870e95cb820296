// The spend noted of a turn: an agent's own, in plausible numbers, and nothing otherwise.

import type { Tokens } from '@agent-relay/sdk/protocol'
import { beforeEach, expect, test } from 'vitest'
import type { RuleInput } from '../../src/core/decide.ts'
import { CoreWorld, codeOf, typesOf } from './core-world.ts'

type Note = RuleInput<'spend.note'>
const tokens: Tokens = { input: 100, output: 20, cached: 40 }

let world: CoreWorld
let run: string
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'bob')
  const started = world.give('run.start', 'ada', { contract: 'do it', harness: 'external', agent: 'bob' })
  run = 'outcome' in started ? (started.outcome.run as string) : ''
})

const note = (by: string, input: Partial<Note> = {}) => world.give('spend.note', by, { tokens, ...input })
const noted = (input: Partial<Note>) => {
  const decided = note('bob', input)
  return 'facts' in decided ? decided.facts[0] : decided
}

test('a turn is one fact, of the agent that gives the command', () => {
  const fact = { type: 'spend.noted', agent: 'bob', run, model: 'm', tokens, usd: 0.25 }
  expect(noted({ run, model: 'm', usd: 0.25 })).toEqual(fact)
})

test('nobody notes spend under a run or a worker of another, or without a name', () => {
  expect(codeOf(note('ada', { run }))).toBe('run.unknown')
  expect(codeOf(note('bob', { run: 'run_none' }))).toBe('run.unknown')
  const hired = world.give('worker.spawn', 'ada', { name: 'cy', cli: 'shell', cwd: '/', isInjected: false })
  const worker = 'outcome' in hired ? (hired.outcome.id as string) : ''
  expect(codeOf(note('bob', { worker }))).toBe('worker.unknown')
  expect(codeOf(note('cy', { worker }))).toBe('done')
  expect(codeOf(note('nobody'))).toBe('agent.required')
})

test.each([
  ['less than nothing', { ...tokens, output: -1 }],
  ['no number', { ...tokens, input: Number.NaN }],
  ['without end', { ...tokens, input: Number.POSITIVE_INFINITY }],
  ['more than a turn can use', { ...tokens, cached: 1e9 + 1 }],
  ['a text', { ...tokens, input: '12x' as never }],
  ['nothing at all', { input: 0, output: 0, cached: 0 }],
])('%s is not noted', (_, strange) => {
  expect(typesOf(note('bob', { tokens: strange }))).toEqual([])
})

test('what the vendor kept is part of the input, and parts of tokens are not counted', () => {
  expect(noted({ tokens: { input: 10.9, output: 2.5, cached: 99 } })).toMatchObject({
    tokens: { input: 10, output: 2, cached: 10 },
  })
})

test.each([-1, Number.NaN, 10_001, Number.POSITIVE_INFINITY])(
  'a cost of %d is left out, and the tokens stay',
  (usd) => {
    expect(noted({ usd })).toEqual({ type: 'spend.noted', agent: 'bob', tokens })
  },
)

test('the name of a model is cut, and clean: a row of that name must be found again', () => {
  expect(noted({ model: 'x\u0000y\u001b[2J' })).toMatchObject({ model: 'xy' })
  expect(noted({ model: '\u0000' })).not.toHaveProperty('model', expect.anything())
  expect(noted({ model: 'x'.repeat(5_000) })).toMatchObject({ model: 'x'.repeat(100) })
})
