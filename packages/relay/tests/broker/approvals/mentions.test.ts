// Messages to a person: the remembering search finds the same as a naive one that looks at everything each time, in random histories and in reads
// that go on in turns. No text is looked at twice.

import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { Mentions } from '../../../src/broker/approvals/mentions.ts'
import { runAllSteps, type Steps } from '../../../src/core/steps.ts'
import { CoreWorld } from '../../core/core-world.ts'

const channels = ['#general', '#one', '#two']
const bodies = ['@pat: look', 'pat, may I?', 'words', '@dee and @pat', 'patty', '@dee: yes']

function start(): CoreWorld {
  const world = new CoreWorld().cast('ada', 'bob')
  for (const name of ['pat', 'dee']) world.register(name, { type: 'human', isHolder: true })
  for (const channel of channels.slice(1)) world.give('channel.create', 'ada', { channel })
  return world
}

/** Both take their steps in turns, as the sessions of one person do. */
function inTurns<T>(a: Steps<T>, b: Steps<T>): [T, T] {
  for (;;) {
    const [first, second] = [a.next(), b.next()]
    if (first.done) return [first.value, second.done ? second.value : runAllSteps(b)]
    if (second.done) return [runAllSteps(a), second.value]
  }
}

test('remembered or not, it is the same', () => {
  const kinds = ['free', 'question', 'status'] as const
  const step = fc.record({
    by: fc.constantFrom('ada', 'bob', 'pat', 'dee'),
    to: fc.constantFrom<string | string[]>(...channels, '*', 'pat', ['pat', 'dee', 'ada']),
    body: fc.constantFrom(...bodies),
    kind: fc.constantFrom(...kinds),
    times: fc.constantFrom(1, 1, 1, 90),
    what: fc.constantFrom('send', 'send', 'send', 'join', 'leave', 'look', 'look'),
    reader: fc.constantFrom('pat', 'dee'),
    isEverywhere: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = start()
      const kept = new Mentions(world.store)
      for (const { by, to, body, kind, times, what, reader, isEverywhere } of steps) {
        const channel = String(to)
        if (what === 'join' || what === 'leave') world.give(`channel.${what}`, by, { channel })
        else if (what === 'send')
          for (let n = 0; n < times; n++) world.give('message.send', by, { to, body: `${body} ${n}`, kind })
        else {
          const fresh = runAllSteps(new Mentions(world.store).messagesNeeding(reader, isEverywhere))
          const [one, other] = inTurns(
            kept.messagesNeeding(reader, isEverywhere),
            kept.messagesNeeding(reader, !isEverywhere),
          )
          expect(one).toEqual(fresh)
          expect(other).toEqual(runAllSteps(new Mentions(world.store).messagesNeeding(reader, !isEverywhere)))
        }
      }
      world.store.close()
    }),
    { numRuns: 60 },
  )
})

test('no text is looked at twice, and none that is older than the newest thousands', () => {
  const world = start()
  const looks = vi.spyOn(world.store.needs, 'messagesNaming')
  const kept = new Mentions(world.store)
  /** How many were said to pat, and how many texts of the channel were looked at for that. */
  const look = (): [said: number, texts: number] => {
    looks.mockClear()
    const said = runAllSteps(kept.messagesNeeding('pat', true))
    const inOne = looks.mock.calls.filter(([{ name }]) => name === '#one')
    return [said.length, inOne.reduce((sum, [, , low, high]) => sum + high - low, 0)]
  }
  const say = (times: number) =>
    world.together(() => {
      for (let n = 0; n < times; n++) world.send('ada', '#one', { body: n === 0 ? '@pat: look' : 'words' })
    })
  say(1_000)
  expect(look()).toEqual([1, 1_000])
  expect(look()).toEqual([1, 0])
  say(10)
  expect(look()).toEqual([2, 10])
  say(4_096)
  expect(look()).toEqual([1, 4_096])
  world.send('pat', '#one', { body: 'I see.' })
  say(5)
  expect(look()).toEqual([1, 6])
  world.store.close()
})
