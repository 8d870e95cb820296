// The brief, as an agent asks for it: told once, written once, and for no other agent's eyes.

import { expect } from 'vitest'
import { eventually, play, playAlone } from './play.ts'

play('an agent is told its situation', async ({ ada, bob }) => {
  await ada.send('bob', 'Which branch?', { kind: 'question' })
  const { text } = await bob.call('agent.brief', { after: 'compact' })
  expect(text.split('\n')).toEqual([
    'Relay brief: you are bob.',
    '1 unread: ada. Call relay_inbox.',
    'You owe ada an answer: "Which branch?" (0 s ago).',
  ])
  // It was told of its mail, and has not been handed any.
  await bob.takes('Which branch?')
})

const atHome = "a brief is a fact of its agent's home machine alone, and has no number in the journal that all share"

playAlone('a brief is a fact for its agent and the key holder', atHome, async (stage) => {
  const { ada, bob, cy, enter, key } = stage
  const { text } = await bob.call('agent.brief', { after: 'compact' })
  const holder = await enter({ key: key() })
  const facts = async (actor: typeof ada) =>
    (await actor.call('event.list', { types: ['agent.briefed'] })).events.map(({ fact }) => fact)
  const told = [{ agent: 'bob', after: 'compact', text }]
  expect([await facts(bob), await facts(holder), await facts(ada), await facts(cy)]).toEqual([told, told, [], []])
})

play('once for one cut, whoever asks twice; again for the next', async ({ ada, clock }) => {
  const [first, second] = await Promise.all(
    ['one', 'two'].map((id) => ada.call('agent.brief', { after: 'compact' }, `${id}-${'x'.repeat(20)}`)),
  )
  expect([first?.text, second?.text]).toEqual(['Relay brief: you are ada.', ''])
  // The same call again, because its answer was lost.
  expect(await ada.call('agent.brief', { after: 'compact' }, `one-${'x'.repeat(20)}`)).toEqual(first)
  await clock.passes(5_000)
  expect(await ada.call('agent.brief', { after: 'clear' })).toEqual(first)
})

playAlone('each brief is one fact', atHome, async ({ ada, clock }) => {
  await Promise.all([ada.call('agent.brief', { after: 'compact' }), ada.call('agent.brief', { after: 'compact' })])
  await clock.passes(5_000)
  await ada.call('agent.brief', { after: 'clear' })
  const { events } = await ada.call('event.list', { types: ['agent.briefed'] })
  expect(events.map(({ fact }) => (fact as { after: string }).after)).toEqual(['compact', 'clear'])
})

play('a question is owed until it is answered, and not only until it is read', async ({ ada, bob }) => {
  const { id } = await ada.send('bob', 'Which branch?', { kind: 'question' })
  await ada.send('bob', 'By the way.')
  await bob.takes('Which branch?', 'By the way.')
  await bob.takes()
  expect(await bob.call('inbox.owed', {})).toMatchObject({
    messages: [{ id, from: 'ada', body: 'Which branch?' }],
    more: 0,
  })
  expect((await ada.call('inbox.owed', {})).messages).toEqual([])
  await bob.send('ada', 'main', { replyTo: id })
  expect((await bob.call('inbox.owed', {})).messages).toEqual([])
})

play('who waits now is owed an answer, of whatever kind the message is', async ({ ada, bob, clock }) => {
  const reply = ada.asks('bob', 'Go ahead.', { kind: 'directive', timeoutMs: 60_000 })
  await bob.takes('Go ahead.')
  await eventually(async () => {
    await clock.passes(5_000)
    expect((await bob.call('agent.brief', { after: 'resume' })).text).toContain('You owe ada an answer: "Go ahead."')
  })
  await bob.send('ada', 'Done.')
  await reply
  await clock.passes(5_000)
  expect((await bob.call('agent.brief', { after: 'resume' })).text).toBe('Relay brief: you are bob.')
})
