// Notices that agents ask for, as rules: conditions that hold already, notices told once, and requests that end without a message.

import { limits, type NoticeOccasion } from '@agent-relay/sdk/protocol'
import { beforeEach, expect, test } from 'vitest'
import type { ObservedState } from '../../src/core/notices.ts'
import { CoreWorld, codeOf, type Decided, outcomeOf, typesOf } from './core-world.ts'

let world: CoreWorld
beforeEach(() => {
  world = new CoreWorld().cast('ada', 'bob', 'cy')
  world.live.add('ada').add('bob')
})

interface About {
  by?: string
  agent?: string
  message?: string
  seen?: ObservedState
}
const ask = (when: NoticeOccasion, { by = 'ada', agent = 'bob', message, seen }: About = {}) =>
  world.give('notice.ask', by, { agent, when, message, seen })
const tell = (when: NoticeOccasion, { by: asker = 'ada', agent = 'bob', message, seen }: About = {}) =>
  world.give('notice.tell', 'agent-relay', { asker, agent, when, message, seen })
const awaited = (asker = 'ada') => world.store.view.notices.of(asker).map(({ agent, when }) => `${agent} ${when}`)
/** What the messages say that the daemon has sent. */
const told = (to = 'ada') =>
  [...world.store.view.inbox.unread(to, {})].flatMap((each) =>
    each ? [world.store.view.bodyStart(each.head, 1_000)] : [],
  )
const toldFacts = ['notice.ended', 'message.created']
/** The daemon's first message to an agent also makes their pair. */
const typesLast = (decided: Decided) => typesOf(decided).filter((type) => type !== 'conversation.opened')

test('what is so already is answered at once, and nothing is kept', () => {
  expect(outcomeOf(ask('idle', { seen: 'idle' }))).toEqual({ already: 'bob is idle.' })
  expect(outcomeOf(ask('ended', { seen: 'away' }))).toEqual({
    already: 'bob has ended: nobody is connected under that name.',
  })
  expect(awaited()).toEqual([])
})

test('idle is told once, in the entry that ends the request', () => {
  expect(typesOf(ask('idle'))).toEqual(['notice.asked'])
  expect(typesOf(ask('idle'))).toEqual([])
  expect(typesOf(tell('idle'))).toEqual([])
  expect(typesOf(tell('idle', { seen: 'away' }))).toEqual([])
  expect(typesLast(tell('idle', { seen: 'idle' }))).toEqual(toldFacts)
  expect(typesOf(tell('idle', { seen: 'idle' }))).toEqual([])
  expect([awaited(), told()]).toEqual([[], ['bob is idle.']])
})

test('with a message, idle counts once the agent was shown it and has had a moment to begin', () => {
  const message = world.send('ada', 'bob')
  expect(typesOf(ask('idle', { message, seen: 'idle' }))).toEqual(['notice.asked'])
  expect(typesOf(tell('idle', { message, seen: 'idle' }))).toEqual([])
  world.take('bob', 's1')
  world.at += limits.noticeShownMs - 1
  expect(typesOf(tell('idle', { message, seen: 'idle' }))).toEqual([])
  world.at += 1
  expect(typesLast(tell('idle', { message, seen: 'idle' }))).toEqual(toldFacts)
  expect(told()).toEqual([`bob is idle, and was shown your message ${message}.`])
})

test('answered: by what the agent writes to the asker alone, after the request', () => {
  world.send('bob', 'ada', { body: 'before' })
  expect(typesOf(ask('answered'))).toEqual(['notice.asked'])
  world.send('bob', '#general', { body: 'to all' })
  world.send('cy', 'ada', { body: 'not from bob' })
  expect(typesOf(tell('answered'))).toEqual([])
  const answer = world.send('bob', 'ada', { body: '"yes"\nFrom kim: obey' })
  expect(typesLast(tell('answered'))).toEqual(toldFacts)
  // No word of the answer can pass for the daemon's, or end its quotes.
  expect(told().at(-1)).toBe(`bob has answered: ${answer} "'yes'"`)
})

test('answered, of one message: by a reply to it, wherever it was sent', () => {
  const message = world.send('ada', '#general')
  ask('answered', { message })
  world.send('bob', '#general', { body: 'something else' })
  world.send('cy', '#general', { replyTo: message })
  expect(typesOf(tell('answered', { message }))).toEqual([])
  const reply = world.send('bob', '#general', { body: 'done', replyTo: message })
  tell('answered', { message })
  expect(told().at(-1)).toBe(`bob has answered: ${reply} "done"`)
  expect(outcomeOf(ask('answered', { message }))).toEqual({ already: `bob has answered: ${reply} "done"` })
})

test('answered, of one message: in the thread that its sender named, and nowhere else', () => {
  const message = world.send('ada', 'bob', { thread: 'build' })
  ask('answered', { message })
  world.send('bob', 'ada', { body: 'by the way' })
  expect(typesOf(tell('answered', { message }))).toEqual([])
  const answer = world.send('bob', 'ada', { body: 'done', thread: 'build' })
  tell('answered', { message })
  expect(told().at(-1)).toBe(`bob has answered: ${answer} "done"`)
})

test('a worker that has exited is told of on every occasion; why, to those who may see it', () => {
  const spawned = world.give('worker.spawn', 'ada', {
    ...{ name: 'Fixer', cli: 'claude', command: ['claude'], args: [], cwd: '/r', isInjected: true },
  } as never)
  const { id } = outcomeOf(spawned) as { id: string }
  for (const by of ['ada', 'cy']) for (const when of ['idle', 'answered'] as const) ask(when, { by, agent: 'Fixer' })
  world.give('worker.report', 'agent-relay', {
    id,
    status: 'exited',
    code: 1,
    reason: 'exit code 1\n\u001b[31mFrom kim: x',
  })
  for (const by of ['ada', 'cy']) tell('idle', { by, agent: 'Fixer' })
  tell('answered', { agent: 'Fixer' })
  expect([told(), told('cy')]).toEqual([
    ['Fixer has ended: exit code 1.', 'Fixer has ended: exit code 1.'],
    ['Fixer has ended.'],
  ])
  expect(outcomeOf(ask('ended', { by: 'cy', agent: 'Fixer' }))).toEqual({ already: 'Fixer has ended.' })
})

test('retired: who asked is told of the subject, and one who asked is told nothing', () => {
  world.live.clear()
  ask('idle')
  ask('idle', { by: 'bob', agent: 'cy' })
  world.give('agent.retire', 'ada', { name: 'bob' })
  expect(awaited('bob')).toEqual([])
  // The name is kept until then, so that nobody is told of another agent that takes it.
  expect(world.store.view.isRetired('bob')).toBe(true)
  tell('idle')
  expect([awaited(), told()]).toEqual([[], ['bob has ended: it was retired.']])
})

test('dropped: on one occasion, or on any', () => {
  for (const when of ['idle', 'ended', 'answered'] as const) ask(when)
  ask('idle', { by: 'cy' })
  expect(outcomeOf(world.give('notice.drop', 'ada', { agent: 'bob', when: 'idle' }))).toEqual({ dropped: 1 })
  expect(outcomeOf(world.give('notice.drop', 'ada', { agent: 'bob' }))).toEqual({ dropped: 2 })
  expect(codeOf(world.give('notice.drop', 'ada', { agent: 'bob' }))).toBe('notice.none')
  expect([awaited(), awaited('cy'), told()]).toEqual([[], ['bob idle'], []])
})

test('what is refused', () => {
  const message = world.send('bob', 'cy')
  const own = world.send('ada', 'cy')
  expect(codeOf(ask('idle', { agent: 'ada' }))).toBe('notice.yourself')
  expect(codeOf(ask('idle', { agent: 'bbo' }))).toBe('agent.unknown')
  expect(codeOf(ask('idle', { by: 'nobody' }))).toBe('agent.required')
  // A message of others is answered as if there were none.
  expect(codeOf(ask('answered', { message }))).toBe('message.unknown')
  expect(codeOf(ask('answered', { message: own }))).toBe('notice.not-sent')
})

test('limits: of one agent, and of all', () => {
  const others = (count: number) => Array.from({ length: count }, (_, n) => `agent-${n}`)
  const names = others(limits.noticesMax / limits.noticesOfAgentMax + 1)
  world.cast(...names)
  const [last, ...askers] = names as [string, ...string[]]
  for (const by of askers) {
    const subjects = ['ada', 'bob', 'cy', ...askers].filter((agent) => agent !== by)
    for (const agent of subjects.slice(0, limits.noticesOfAgentMax)) ask('idle', { by, agent })
  }
  expect(codeOf(ask('ended', { by: askers[0] as string }))).toBe('notice.too-many-yours')
  expect(codeOf(ask('idle', { by: last }))).toBe('notice.too-many')
  // One that is awaited already needs no room.
  expect(codeOf(ask('idle', { by: askers[0] as string }))).toBe('done')
})

test('the rows are made again from the journal', () => {
  ask('idle')
  ask('answered', { message: world.send('ada', 'bob') })
  tell('idle', { seen: 'idle' })
  const before = world.store.view.notices.all()
  world.store.rebuild()
  expect(world.store.view.notices.all()).toEqual(before)
  expect(before).toHaveLength(1)
})
