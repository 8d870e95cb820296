// Approvals as rules: the first answer wins, callers without the right are refused, and an unanswered approval is never shown as answered.

import { type ApprovalHow, approvalHows, type Delegation, limits } from '@agent-relay/sdk/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AnswerInput, OpenInput } from '../../src/core/approvals.ts'
import { asAgent, asHolder, CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('Lead', 'Other')
  world.register('kim', { type: 'human', proven: true })
  world.give('worker.spawn', 'Lead', { name: 'Fixer', cli: 'claude', cwd: '/', isInjected: true })
  world.give('worker.spawn', 'Fixer', { name: 'Helper', cli: 'claude', cwd: '/', isInjected: true })
})

const choices: OpenInput['choices'] = [
  { id: 'allow', kind: 'allow' },
  { id: 'always', kind: 'always' },
  { id: 'deny', kind: 'deny' },
]
const open = (agent = 'Fixer', more: Partial<OpenInput> = {}) => {
  const asked = { agent, vendor: 'claude', tool: 'Bash', input: 'npm test', isExact: true, choices, digest: 'd1' }
  return outcomeOf(world.give('approval.open', 'agent-relay', { ...asked, ...more }))?.id as string
}
const answer = (by: string, id: string, more: Partial<AnswerInput> = {}) =>
  world.give('approval.answer', by, { id, choice: 'allow', digest: 'd1', standing: asAgent, ...more })
const asPerson = (id: string, more: Partial<AnswerInput> = {}) => answer('kim', id, { surface: 'page', ...more })
const close = (id: string, how: Exclude<ApprovalHow, 'answered'>, kind?: 'allow' | 'deny') =>
  world.give('approval.close', 'agent-relay', { ids: [id], how, kind })
const rows = () => world.store.view.approvals.open().map(({ id }) => id)
const why = (decided: ReturnType<typeof answer>) => 'refusal' in decided && decided.refusal.message
const delegate = (...approve: Partial<Delegation>[]) =>
  world.give('workspace.set-policy', 'kim', {
    approve: approve.map((each) => ({ agent: 'Lead', for: '*', tools: ['*'], until: world.at + 60_000, ...each })),
  })

test('ids are short, and none is given twice', () => {
  expect([open(), open()]).toEqual(['ap-1', 'ap-2'])
  asPerson('ap-2')
  expect(open()).toBe('ap-3')
  expect(rows()).toEqual(['ap-1', 'ap-3'])
})

test('the first answer wins, and a later one is told who gave it', () => {
  const id = open()
  expect(outcomeOf(asPerson(id, { choice: 'deny', words: 'use a branch' }))).toEqual({
    ...{ agent: 'Fixer', tool: 'Bash', kind: 'deny', how: 'answered' },
  })
  world.at += 3_000
  const late = asPerson(id)
  expect([codeOf(late), why(late)]).toEqual(['approval.closed', 'Already answered by kim (denied, 3 s ago).'])
})

test('one that was answered at the terminal says so', () => {
  const [known, unknown] = [open(), open()]
  close(known, 'terminal', 'allow')
  close(unknown, 'terminal')
  world.at += 3_000
  expect(why(asPerson(known))).toBe('Already answered at the terminal (allowed, 3 s ago).')
  expect(why(asPerson(unknown))).toBe('Already answered at the terminal (3 s ago).')
})

test('whatever else has closed it, nothing is shown as answered, and the first closing stays', () => {
  for (const how of approvalHows) {
    if (how === 'answered') continue
    const id = open()
    expect(typesOf(close(id, how))).toEqual(['approval.closed'])
    expect(typesOf(close(id, 'gone', 'allow'))).toEqual([])
    expect(world.store.view.approvals.byId(id)?.closed).toEqual({ at: world.at, how, by: 'agent-relay' })
    expect(codeOf(asPerson(id))).toBe('approval.closed')
    if (how !== 'terminal') expect(why(asPerson(id))).toMatch(/^Nobody answered/)
  }
})

test('an answer fits what was shown, and one of the choices that were offered', () => {
  const id = open()
  expect(codeOf(asPerson(id, { digest: 'd2' }))).toBe('approval.changed')
  expect(codeOf(asPerson(id, { choice: 'whatever' }))).toBe('approval.choice')
  expect(codeOf(asPerson('ap-77'))).toBe('approval.unknown')
  expect(codeOf(asPerson(open('Fixer', { choices: [] })))).toBe('approval.choice')
  expect(rows()).toContain(id)
})

test('there are not more than so many at once', () => {
  world.together(() => {
    for (let n = 0; n < limits.approvalsMax; n++) open()
  })
  const asked = { agent: 'Fixer', vendor: 'claude', tool: 'Bash', input: '', isExact: true, choices, digest: 'd1' }
  expect(codeOf(world.give('approval.open', 'agent-relay', asked))).toBe('approval.too-many')
})

describe('without a person', () => {
  test.each(['Fixer', 'Lead', 'kim', 'agent-relay'])('%s is refused, with the key or without', (by) => {
    const id = open()
    for (const standing of [asAgent, asHolder])
      for (const choice of ['allow', 'always', 'deny'])
        expect(codeOf(answer(by, id, { standing, choice }))).toMatch(/approval\.(not-yours|unknown)/)
    expect(rows()).toEqual([id])
  })

  test('somebody who has nothing to do with it does not learn that there is one', () => {
    const id = open()
    expect(codeOf(answer('Other', id))).toBe('approval.unknown')
    expect(codeOf(answer('Other', 'ap-99'))).toBe('approval.unknown')
  })
})

describe('under a delegation', () => {
  test('the hirer answers for its own worker, this once', () => {
    delegate({ for: 'Fixer', tools: ['Bash'], pattern: 'npm test*' })
    const id = open()
    expect(codeOf(answer('Lead', id, { choice: 'always' }))).toBe('approval.not-yours')
    const given = answer('Lead', id)
    expect('facts' in given && given.facts).toEqual([
      {
        ...{ type: 'approval.closed', id, agent: 'Fixer', how: 'answered', kind: 'allow', choice: 'allow' },
        ...{ surface: 'delegation', delegation: 'Lead for Fixer: Bash npm test*' },
      },
    ])
  })

  test.each<[string, Partial<Delegation>, Partial<OpenInput>]>([
    ['another tool', { tools: ['Write'] }, {}],
    ['another worker', { for: 'Other' }, {}],
    ['another agent', { agent: 'Other' }, {}],
    ['another input', { pattern: 'npm run*' }, {}],
    ['the beginning alone', { pattern: 'npm' }, {}],
    ['a second command', { pattern: 'npm test*' }, { input: 'npm test; rm -rf .' }],
    ['a second line', { pattern: 'npm test*' }, { input: 'npm test\nrm -rf .' }],
    ['a pipe', { pattern: '*' }, { input: 'curl x | sh' }],
    ['a substitution', { pattern: 'echo *' }, { input: 'echo $(rm -rf .)' }],
    ['a backtick', { pattern: 'echo *' }, { input: 'echo `rm x`' }],
    ['a redirection', { pattern: 'echo *' }, { input: 'echo x > ~/.bashrc' }],
    ['signs that mean something in a pattern', { pattern: 'npm.test' }, {}],
    ['a sign between two parts', { pattern: 'npm * test*' }, { input: 'npm run x; npm test' }],
    ['an end that is not there twice', { pattern: 'npm test*test' }, {}],
    ['an input that was cut or cleaned', { pattern: 'npm test*' }, { isExact: false }],
  ])('%s is not covered', (_, delegation, asked) => {
    delegate(delegation)
    const id = open('Fixer', asked)
    expect(codeOf(answer('Lead', id))).toBe('approval.not-yours')
    expect(rows()).toEqual([id])
  })

  test.each([
    ['npm*test', 'npm run test'],
    ['npm * -- *', 'npm run x -- -- y'],
    ['*', 'npm test'],
    ['npm test', 'npm test'],
    ['echo *; ls *', 'echo a; ls b'],
  ])('%s covers %s', (pattern, input) => {
    delegate({ pattern })
    expect(outcomeOf(answer('Lead', open('Fixer', { input })))).toMatchObject({ kind: 'allow' })
  })

  test('a pattern with many stars takes no time, and one with more is refused', () => {
    const pattern = `${'*a'.repeat(limits.delegationStarsMax)}b`
    delegate({ pattern })
    expect(codeOf(answer('Lead', open('Fixer', { input: 'a'.repeat(4_000) })))).toBe('approval.not-yours')
    expect(codeOf(delegate({ pattern: `*${pattern}` }))).toBe('input.invalid')
  })

  test('nobody answers for itself, nor for the workers of others, nor when the time has passed', () => {
    expect(codeOf(delegate({ agent: 'Fixer', for: 'Fixer' }))).toBe('input.invalid')
    delegate({ agent: 'Fixer' }, { agent: 'Lead' })
    expect(codeOf(answer('Fixer', open()))).toBe('approval.not-yours')
    // A worker of its worker is not its own.
    expect(codeOf(answer('Lead', open('Helper')))).toBe('approval.not-yours')
    const id = open()
    world.at += 60_000
    expect(codeOf(answer('Lead', id))).toBe('approval.not-yours')
  })

  test('it lasts a week at most, also where the clock was set back', () => {
    expect(codeOf(delegate({ until: world.at + limits.delegationMsMax + 1 }))).toBe('input.invalid')
    delegate({ until: world.at + limits.delegationMsMax })
    world.at -= 1
    expect(codeOf(answer('Lead', open()))).toBe('approval.not-yours')
  })
})
