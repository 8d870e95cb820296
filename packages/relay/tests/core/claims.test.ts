// Claims as rules: their grant, the fate of another's edit under each policy, and their end.

import { limits, type Policy } from '@agent-relay/sdk/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import type { EditInput } from '../../src/core/claims.ts'
import { asAgent, asHolder, CoreWorld, codeOf, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'bob', 'cy')
  world.register('kim', { type: 'human', proven: true })
  world.live.add('ada').add('bob')
})

const place = (file: string, root = '/r') => ({ path: `${root}/${file}`, root, file, repository: '/r/.git' })
const edit = (by: string, files: string[], more: Partial<EditInput> = {}) =>
  world.give('claim.edit', by, { places: files.map((file) => place(file)), hasOthers: true, ...more })
const sweep = (by: string, more: Partial<EditInput> = {}) => edit(by, [], { sweptCheckout: '/r', ...more })
const add = (by: string, ...files: string[]) =>
  world.give('claim.add', by, { places: files.map((file) => place(file)) })
const drop = (by: string, file: string, standing: typeof asAgent | typeof asHolder = asAgent) =>
  world.give('claim.drop', by, { places: [place(file)], standing })
const policy = (claims: Policy['claims']) => world.give('workspace.set-policy', 'kim', { claims })
const holders = () => world.store.view.claims.all(world.at).map(({ agent, file }) => `${agent} ${file}`)

test('the first edit claims, further edits of its holder renew, and another agent is denied', () => {
  expect(typesOf(edit('ada', ['a', 'b']))).toEqual(['claim.made', 'claim.made'])
  world.at += 60_000
  // How often that is written down is decided by who asks.
  expect(typesOf(edit('ada', ['a']))).toEqual([])
  const edits = [{ path: '/r/a', agent: 'ada', at: world.at }]
  world.at += 30_000
  expect(typesOf(world.give('claim.renew', 'agent-relay', { edits }))).toEqual(['claim.renewed'])
  expect(typesOf(world.give('claim.renew', 'agent-relay', { edits }))).toEqual([])
  expect(world.store.view.claims.at('/r/a', undefined)).toMatchObject({
    ...{ since: 1_000_000, editedAt: 1_060_000, until: 1_660_000 },
  })
  const denied = edit('bob', ['c', 'a'])
  expect(outcomeOf(denied)).toEqual({ isDenied: true })
  expect('facts' in denied && denied.facts).toEqual([
    {
      ...{ type: 'claim.denied', what: 'edit', agent: 'bob', root: '/r' },
      ...{ claims: [{ file: 'a', holder: 'ada', since: 1_000_000 }], count: 1 },
    },
  ])
  // The whole edit was denied: nothing of it is claimed.
  expect(holders()).toEqual(['ada a', 'ada b'])
})

test('ten minutes after the last edit the claim is over, by itself', () => {
  edit('ada', ['a'])
  world.at += limits.claimMs - 1
  expect(outcomeOf(edit('bob', ['a']))).toEqual({ isDenied: true })
  world.at += 1
  expect(typesOf(edit('bob', ['a']))).toEqual(['claim.made'])
  expect(holders()).toEqual(['bob a'])
})

test('a claim from before the clock was set back does not last for years', () => {
  edit('ada', ['a'])
  world.at -= 1
  expect(world.store.view.claims.countOf('ada', world.at)).toBe(0)
  expect(typesOf(edit('bob', ['a']))).toEqual(['claim.made'])
})

test('while nobody else is live nothing is claimed, and what is claimed still counts', () => {
  expect(typesOf(edit('ada', ['a'], { hasOthers: false }))).toEqual([])
  add('kim', 'b')
  expect(outcomeOf(edit('ada', ['b'], { hasOthers: false }))).toEqual({ isDenied: true })
})

describe('what the policy makes of an edit and of a git command', () => {
  test.each([
    ['off', false, [], false, []],
    ['warn', false, ['claim.passed'], false, ['claim.passed']],
    ['deny', true, ['claim.denied'], true, ['claim.denied']],
    ['strict', true, ['claim.denied'], true, ['claim.denied']],
  ] as const)('%s', (claims, isEditDenied, editFacts, isGitDenied, gitFacts) => {
    edit('ada', ['a'])
    policy(claims)
    const [edited, swept] = [edit('bob', ['a']), sweep('bob')]
    expect([outcomeOf(edited), typesOf(edited)]).toEqual([{ isDenied: isEditDenied }, editFacts])
    expect([outcomeOf(swept), typesOf(swept)]).toEqual([{ isDenied: isGitDenied }, gitFacts])
    expect(holders()).toEqual(['ada a'])
  })

  test('deny warns of a git command once; a warning excuses no edit, and nothing under strict', () => {
    edit('ada', ['a'])
    expect(typesOf(sweep('bob', { isWarned: true }))).toEqual(['claim.passed'])
    expect(outcomeOf(edit('bob', ['a'], { sweptCheckout: '/r', isWarned: true }))).toEqual({ isDenied: true })
    policy('strict')
    expect(outcomeOf(sweep('bob', { isWarned: true }))).toEqual({ isDenied: true })
    // Its own claims and those of other checkouts are not in its way.
    expect(outcomeOf(sweep('ada'))).toEqual({ isDenied: false })
    expect(outcomeOf(sweep('bob', { sweptCheckout: '/elsewhere' }))).toEqual({ isDenied: false })
  })
})

test('an edit that has happened is not denied, and the claim stays with its holder', () => {
  edit('ada', ['a'])
  expect(typesOf(edit('bob', ['a', 'b'], { isLate: true }))).toEqual(['claim.passed', 'claim.made'])
  expect(holders()).toEqual(['ada a', 'bob b'])
})

test('the same file in another checkout of the repository is another file, and told once', () => {
  edit('ada', ['a'])
  const there = () => world.give('claim.edit', 'bob', { places: [place('a', '/w')], hasOthers: true })
  expect(typesOf(there())).toEqual(['claim.passed', 'claim.made'])
  expect(typesOf(there())).toEqual([])
  expect(outcomeOf(there())).toEqual({ isDenied: false })
})

describe('by hand', () => {
  test('all or none; what another has is refused; people drop the claims of anybody', () => {
    expect(typesOf(add('ada', 'a', 'b', 'a'))).toEqual(['claim.made', 'claim.made'])
    expect(codeOf(add('bob', 'c', 'a'))).toBe('claim.held')
    expect(holders()).toEqual(['ada a', 'ada b'])
    expect(codeOf(drop('bob', 'a'))).toBe('claim.not-yours')
    expect(codeOf(drop('bob', 'c'))).toBe('claim.none')
    expect(typesOf(drop('kim', 'a'))).toEqual(['claim.ended'])
    expect(typesOf(drop('bob', 'b', asHolder))).toEqual(['claim.ended'])
    expect(codeOf(drop('ada', 'a'))).toBe('claim.none')
  })

  test('it lasts its time, whoever goes; a claim by an edit ends with its holder', () => {
    add('ada', 'by-hand')
    edit('ada', ['a'])
    const end = () => typesOf(world.give('claim.end', 'agent-relay', { agent: 'ada' }))
    expect(end()).toEqual([])
    world.live.delete('ada')
    expect(end()).toEqual(['claim.ended'])
    expect(holders()).toEqual(['ada by-hand'])
    // Its name is free for another agent, which must not find claims under it.
    world.give('agent.retire', 'kim', { name: 'ada' })
    expect(holders()).toEqual([])
  })
})

test("a worker's exit ends its claims", () => {
  world.give('worker.spawn', 'bob', { name: 'fixer', cli: 'claude', cwd: '/r', isInjected: true })
  edit('fixer', ['a'])
  const { id } = world.store.view.workers.byName('fixer') ?? {}
  const exited = world.give('worker.report', 'agent-relay', { id: id as string, status: 'exited' })
  expect(typesOf(exited)).toEqual(['worker.changed', 'agent.tokens-revoked', 'claim.ended'])
  expect(holders()).toEqual([])
})

test('a commit ends a claim only if its holder has not edited the file since it was found', () => {
  edit('ada', ['a'])
  const committed = [{ path: '/r/a', agent: 'ada', editedAt: world.at }]
  world.at += 1_000
  world.give('claim.renew', 'agent-relay', { edits: [{ path: '/r/a', agent: 'ada', at: world.at }] })
  expect(typesOf(world.give('claim.end', 'agent-relay', { committed }))).toEqual([])
  committed[0] = { path: '/r/a', agent: 'ada', editedAt: world.at }
  expect(typesOf(world.give('claim.end', 'agent-relay', { committed }))).toEqual(['claim.ended'])
})

test('on another machine the same path is another file', () => {
  edit('ada', ['a'])
  world.machine = 'other'
  expect(typesOf(edit('bob', ['a']))).toEqual(['claim.made'])
  expect(outcomeOf(sweep('cy'))).toEqual({ isDenied: true })
  expect(world.store.view.claims.at('/r/a', 'other')?.agent).toBe('bob')
})

test('a renewal of somebody else, of a claim that is over, or from a time to come does not count', () => {
  edit('ada', ['a'])
  const renew = (agent: string, at: number) =>
    typesOf(world.give('claim.renew', 'agent-relay', { edits: [{ path: '/r/a', agent, at }] }))
  world.at += 1_000
  expect([renew('bob', world.at), renew('ada', world.at + 1), renew('ada', 1_000_000)]).toEqual([[], [], []])
  world.at += limits.claimMs
  expect(renew('ada', world.at)).toEqual([])
})

test('a directory stands for the claims below it, and for no others', () => {
  edit('ada', ['src/a', 'src/deep/b', 'srcs/c'])
  const below = (...trees: string[]) => world.give('claim.edit', 'bob', { places: [], trees, hasOthers: true })
  const denied = below('/r/src')
  expect(outcomeOf(denied)).toEqual({ isDenied: true })
  expect('facts' in denied && denied.facts[0]).toMatchObject({ count: 2 })
  expect(outcomeOf(below('/r/srcs/c'))).toEqual({ isDenied: false })
  expect(outcomeOf(below('/r/sr'))).toEqual({ isDenied: false })
  expect(outcomeOf(below('/'))).toEqual({ isDenied: true })
  expect(typesOf(world.give('claim.edit', 'ada', { places: [], trees: ['/r/src'], hasOthers: true }))).toEqual([])
})

const many = (folder: string, count: number = limits.claimsOfAgentMax) =>
  Array.from({ length: count }, (_, i) => `${folder}/${i}`)

test('one agent has 1,000 claims at most: by hand more are refused by its name, an edit goes ahead, and others have room', () => {
  world.together(() => void edit('ada', many('a')))
  expect(codeOf(add('ada', 'more'))).toBe('claim.too-many-yours')
  expect([outcomeOf(edit('ada', ['more'])), typesOf(edit('ada', ['more']))]).toEqual([{ isDenied: false }, []])
  // What it has already takes no room.
  expect(typesOf(add('ada', 'a/1'))).toEqual(['claim.renewed'])
  expect(typesOf(edit('bob', ['more']))).toEqual(['claim.made'])
  expect(typesOf(edit('cy', [...many('c', 999)])).length + typesOf(edit('cy', ['d', 'e'])).length).toBe(1_000)
})

test('10,000 claims are the most: by hand more are refused, an edit goes ahead', () => {
  world.together(() => {
    for (let n = 0; n < limits.claimsMax / limits.claimsOfAgentMax; n++) {
      world.register(`a${n}`)
      edit(`a${n}`, many(`${n}`))
    }
  })
  expect(codeOf(add('bob', 'more'))).toBe('claim.too-many')
  expect([outcomeOf(edit('bob', ['more'])), typesOf(edit('bob', ['more']))]).toEqual([{ isDenied: false }, []])
  expect(outcomeOf(edit('bob', many('3')))).toEqual({ isDenied: true })
  world.at += limits.claimMs
  expect(typesOf(edit('bob', ['more']))).toEqual(['claim.made'])
  expect(holders()).toEqual(['bob more'])
})
