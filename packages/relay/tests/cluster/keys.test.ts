// The property of conflict keys: whatever another machine stores between a decision and its append, the decision would come out the same, or one
// of the keys that it read was written. Every rule meets every other here, in many states.

import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { changedKeysOf, ReadKeys, recordingView } from '../../src/cluster/keys.ts'
import { laneOf } from '../../src/cluster/lanes.ts'
import { ruleNames } from '../../src/core/decide.ts'
import type { Verdict } from '../../src/core/verdict.ts'
import type { View } from '../../src/core/view.ts'
import { type Given, inputs, KeyWorld, pool } from './key-commands.ts'

interface Difference {
  decided: Given
  between: Given
  /** The keys that were read and then written; `all` where everything was read. */
  met: string[] | 'all'
}

const told = ({ rule, by, input }: Given): string => `${by} ${rule} ${JSON.stringify(input)}`

/** What came of it, without what only saves reading again. */
function outcomeOf(verdict: Verdict): unknown {
  return 'refusal' in verdict ? verdict : { ...verdict, found: undefined }
}

/** Decides every command, then each of them again after each other one was stored, and answers where that made a difference. */
function differences(world: KeyWorld, commands: Given[]): Difference[] {
  const decided = commands.map((given) => {
    const reads = new ReadKeys()
    const verdict = world.decide(given, recordingView(world.store.view, reads))
    return { given, verdict, outcome: outcomeOf(verdict), reads: reads.keys }
  })
  return decided.flatMap((between): Difference[] => {
    if ('refusal' in between.verdict || between.verdict.facts.length === 0) return []
    const written = new Set(changedKeysOf(between.verdict.facts))
    const changed = world.store.runAndRollBack(() => {
      world.write(between.given, between.verdict)
      return decided.filter(({ given, outcome }) => !isDeepStrictEqual(outcomeOf(world.decide(given)), outcome))
    })
    return changed.map(({ given, reads }) => {
      const met = reads === 'all' ? reads : reads.filter((key) => written.has(key))
      return { decided: given, between: between.given, met }
    })
  })
}

const seeds = 5
let all: Difference[] | undefined

function allDifferences(): Difference[] {
  all ??= Array.from({ length: seeds }, (_, seed) => {
    const world = new KeyWorld(seed)
    return differences(
      world,
      [...pool, ...pool].map((rule) => world.command(rule)),
    )
  }).flat()
  return all
}

const shared = ruleNames.filter((rule) => laneOf(rule) === 'shared')

test('every rule of the shared lane takes part', () => {
  expect(shared.filter((rule) => !(rule in inputs))).toEqual([])
})

test('a decision that would come out otherwise has read a key that was written', () => {
  const missed = allDifferences().filter(({ met }) => met.length === 0)
  expect(missed.map(({ decided, between }) => `${told(decided)} / ${told(between)}`).slice(0, 5)).toEqual([])
})

test('what one stores makes a difference for most rules', () => {
  expect(new Set(allDifferences().map(({ decided: { rule } }) => rule)).size).toBeGreaterThan(18)
})

/** Without the kind that these begin with, some difference would go unnoticed. */
function needs(found: Difference[], kind: string): boolean {
  return found.some(({ met }) => met !== 'all' && met.length > 0 && met.every((key) => key[0] === kind))
}

test('most kinds of keys are needed', () => {
  const kinds = [...'#acehimprtwx']
  expect(kinds.filter((kind) => needs(allDifferences(), kind)).length).toBeGreaterThan(7)
})

test('a channel that goes, and a handle that another agent is given, are noticed', () => {
  const world = new KeyWorld(1, 0)
  const register = (name: string, more: object): Given => {
    return {
      ...world.command('agent.register', name),
      input: { name, isHolder: false, mayRetake: true, tokenHash: 'h', ...more },
    }
  }
  const own = { channel: '#ada' }
  world.keep({ ...world.command('channel.create', 'ada'), input: own })
  const again = register('ada', { proven: true, channels: ['#ada'] })
  expect(needs(differences(world, [again, { ...world.command('channel.remove', 'ada'), input: own }]), 'e')).toBe(true)
  const [named, called] = [register('tester', { strict: true }), register('bob', { proven: true, handle: 'Tester' })]
  expect(needs(differences(world, [named, called]), 'h')).toBe(true)
})

test('a method that is not listed reads everything', () => {
  const world = new KeyWorld(1, 10)
  const view: View = Object.assign(Object.create(world.store.view), { aNewOne: () => 7 })
  for (const ask of [
    (asked: View) => [...asked.inbox.unread('ada', {})],
    (asked: View) => asked.workers.taskOf('wk_1'),
    (asked: View) => asked.otherMember('ada', '#build'),
  ]) {
    const reads = new ReadKeys()
    ask(recordingView(world.store.view, reads))
    expect(reads.keys).toBe('all')
  }
  const reads = new ReadKeys()
  expect((recordingView(view, reads) as unknown as { aNewOne(): number }).aNewOne()).toBe(7)
  expect(reads.keys).toBe('all')
})

test('a key is never longer than the database takes, however long a path is', () => {
  const claim = { root: '/r', file: 'f', repository: '/r/.git', agent: 'ada', how: 'edit' as const, until: 1 }
  const keys = (path: string) => [changedKeysOf([{ type: 'claim.made', path, ...claim }])].flat()
  expect(keys('/r/f')).toEqual(['f:/r/f', 'f'])
  const [long = '', other] = [keys(`/${'x'.repeat(4_000)}`)[0], keys(`/${'x'.repeat(3_999)}y`)[0]]
  expect(long.length).toBeLessThanOrEqual(300)
  expect(long).not.toBe(other)
  const reads = new ReadKeys()
  recordingView(new KeyWorld(0).store.view, reads).claims.at(`/${'x'.repeat(4_000)}`, undefined)
  expect(reads.keys).toEqual([long])
})
