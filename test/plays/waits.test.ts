// Sending and waiting for the answer: the ends of a wait, and the waits that are refused.

import { once } from 'node:events'
import { connect } from 'node:net'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { expect } from 'vitest'
import { longAbsenceMs } from '../../packages/relay/src/broker/presence/availability.ts'
import { eventually, play, playOnSocket, refused } from './play.ts'

play('the next direct message from that agent ends a wait', async ({ ada, bob, cy }) => {
  const reply = ada.asks('bob', 'ready?')
  await bob.takes('ready?')
  await cy.send('ada', 'not me')
  await bob.send('#general', 'not here')
  await bob.send('ada', 'yes')
  expect(await reply).toMatchObject({ from: 'bob', body: 'yes' })
  // Handed out like any other: it is not taken a second time.
  await ada.takes('not me', 'not here')
})

play('what was said before the question does not answer it', async ({ ada, bob }) => {
  await bob.send('ada', 'old news')
  const reply = ada.asks('bob', 'ready?')
  await bob.takes('ready?')
  await bob.send('ada', 'yes')
  expect((await reply).body).toBe('yes')
  await ada.takes('old news')
})

play('a reply ends a wait, wherever it stands', async ({ ada, bob }) => {
  const reply = ada.asks('bob', 'ready?')
  const [question] = await bob.takes('ready?')
  await bob.send('#general', 'yes, all of you', { replyTo: question?.id })
  expect(await reply).toMatchObject({ body: 'yes, all of you', channel: '#general', replyTo: question?.id })
})

play('in a thread, only a message of that thread ends a wait', async ({ ada, bob }) => {
  const reply = ada.asks('bob', 'which port?', { thread: 'ports' })
  await bob.takes('which port?')
  await bob.send('ada', 'by the way')
  await bob.send('ada', '8080', { thread: 'ports' })
  expect(await reply).toMatchObject({ body: '8080', thread: 'ports' })
  await ada.takes('by the way')
})

play('for a channel, a group or all, the first reply to that message counts', async ({ ada, bob, cy }) => {
  for (const to of ['#general', ['bob', 'cy'], '*']) {
    const reply = ada.asks(to, 'who is free?')
    const [question] = await cy.takes('who is free?')
    await bob.send('ada', 'unrelated')
    await cy.send('ada', 'I am', { replyTo: question?.id })
    expect(await reply).toMatchObject({ from: 'cy', body: 'I am' })
    await ada.takes('unrelated')
    await bob.takes('who is free?')
    await cy.comesBack()
    await bob.comesBack()
    await ada.comesBack()
  }
})

play('a wait ends on its deadline; the message stays', async ({ ada, bob, clock }) => {
  const reply = ada.asks('bob', 'ready?', { timeoutMs: 5_000 })
  await bob.takes('ready?')
  await clock.passes(5_000)
  const error = await refused(reply, 'wait.timeout', /Timeout waiting for response from bob \(5000 ms\)/)
  expect(error.retry).toBe(true)
  await bob.send('ada', 'late')
  await ada.takes('late')
})

play('a wait with a time of its own says at its end who is away', async ({ ada, bob, cy, clock, enter, key }) => {
  const endsWith = async (to: string | string[], text: RegExp) => {
    let isOver = false
    const asked = ada.asks(to, 'ready?', { timeoutMs: 5_000 }).finally(() => {
      isOver = true
    })
    asked.catch(() => {})
    // The wait begins when its message is stored, and nobody here sees when that is.
    await eventually(async () => {
      await clock.passes(1_000)
      expect(isOver).toBe(true)
    })
    return refused(asked, 'wait.timeout', text)
  }
  await ada.call('channel.create', { channel: '#build' })
  for (const each of [bob, cy]) await each.call('channel.join', { channel: '#build' })
  await bob.leaves()
  await eventually(async () => expect(await isLive(ada, 'bob')).toBe(false))
  const stored = 'The message m_\\w+ is stored; its answer will come to your inbox\\.$'
  await endsWith('bob', new RegExp(`^Timeout waiting for response from bob \\(5000 ms\\): bob is away\\. ${stored}`))
  await clock.passes(12 * longAbsenceMs)
  await endsWith('bob', /\(5000 ms\): bob is away\./)
  await endsWith(['bob', 'cy'], /\(5000 ms\): bob is away\./)
  // One of its members is there, and may answer.
  await endsWith('#build', /\(5000 ms\)\. The message/)
  await cy.leaves()
  await eventually(async () => expect(await isLive(ada, 'cy')).toBe(false))
  await endsWith(['bob', 'cy'], /\(5000 ms\): bob and cy are away\./)
  await endsWith('#build', /\(5000 ms\): bob and cy are away\./)
  const kim = await enter({ name: 'kim', type: 'human', key: key() })
  await kim.leaves()
  await eventually(async () => expect(await isLive(ada, 'kim')).toBe(false))
  await endsWith('kim', /\(5000 ms\): kim is away\./)
})

play('a wait ends when the awaited agent has been away too long', async ({ ada, bob, clock, enter }) => {
  const reply = ada.asks('bob', 'ready?', { timeoutMs: 600_000 })
  await bob.takes('ready?')
  await bob.leaves()
  await eventually(async () => expect(await isLive(ada, 'bob')).toBe(false))
  await clock.passes(longAbsenceMs / 2)
  // Back in time: the wait goes on.
  const back = await enter({ name: 'bob' })
  await clock.passes(longAbsenceMs)
  await back.leaves()
  await eventually(async () => expect(await isLive(ada, 'bob')).toBe(false))
  await clock.passes(longAbsenceMs)
  await refused(reply, 'wait.gone', /^bob has been away for 1 min; it waits in their inbox\.$/)
})

play(
  'who asks one that is not there is told at once, unless a time was named',
  async ({ ada, bob, clock, enter, key }) => {
    await bob.leaves()
    await eventually(async () => expect(await isLive(ada, 'bob')).toBe(false))
    // Away for a moment: it may be back at once, and the wait ends when it is not.
    const first = ada.asks('bob', 'one?')
    first.catch(() => {})
    await eventually(async () => expect(await waitsFor(ada)).toBe('bob'))
    await clock.passes(30_000)
    await refused(first, 'wait.timeout', /30000 ms/)
    await clock.passes(12 * longAbsenceMs)
    const error = await refused(
      ada.asks('bob', 'two?'),
      'wait.gone',
      /^bob has been away for 12 min; it waits in their inbox\.$/,
    )
    expect(error.details).toMatchObject({ to: 'bob', message: expect.stringMatching(/^m_/) })
    expect(await waitsFor(ada)).toBeUndefined()
    const patient = ada.asks('bob', 'three?', { timeoutMs: 5 * longAbsenceMs })
    await clock.passes(4 * longAbsenceMs)
    const back = await enter({ name: 'bob' })
    await back.takes('one?', 'two?', 'three?')
    await back.send('ada', 'here I am')
    expect((await patient).body).toBe('here I am')
    // A person comes back when they like.
    const kim = await enter({ name: 'kim', type: 'human', key: key() })
    await kim.leaves()
    await eventually(async () => expect(await isLive(ada, 'kim')).toBe(false))
    await clock.passes(10 * longAbsenceMs)
    const asked = ada.asks('kim', 'may I?')
    asked.catch(() => {})
    await eventually(async () => expect(await waitsFor(ada)).toBe('kim'))
    await clock.passes(30_000)
    await refused(asked, 'wait.timeout', /30000 ms/)
  },
)

play(
  'who asks a group or a channel in which all are away is told at once who they are',
  async ({ ada, bob, cy, clock, enter }) => {
    await ada.call('channel.create', { channel: '#build' })
    for (const each of [bob, cy]) await each.call('channel.join', { channel: '#build' })
    await bob.leaves()
    await eventually(async () => expect(await isLive(ada, 'bob')).toBe(false))
    await clock.passes(2 * longAbsenceMs)
    // One of them is there, and may answer.
    const asked = ada.asks(['bob', 'cy'], 'one?')
    await cy.takes('one?')
    await cy.leaves()
    await eventually(async () => expect(await isLive(ada, 'cy')).toBe(false))
    await clock.passes(30_000)
    await refused(asked, 'wait.timeout', /30000 ms/)
    await clock.passes(longAbsenceMs)
    const gone = /^bob and cy have been away for at least 1 min; it waits in their inboxes\.$/
    for (const to of [['bob', 'cy'], '#build']) {
      const error = await refused(ada.asks(to, 'two?'), 'wait.gone', gone)
      expect(error.details).toMatchObject({ all: 'bob and cy', message: expect.stringMatching(/^m_/) })
    }
    const patient = ada.asks('#build', 'three?', { timeoutMs: 5 * longAbsenceMs })
    await clock.passes(4 * longAbsenceMs)
    const back = await enter({ name: 'cy' })
    const three = (await back.takes('one?', 'two?', 'two?', 'three?')).at(-1)
    await back.send('#build', 'here I am', { replyTo: three?.id })
    expect((await patient).body).toBe('here I am')
  },
)

play('of two agents that would wait for each other, the second is refused and told why', async ({ ada, bob }) => {
  const reply = ada.asks('bob', 'after you')
  await bob.takes('after you')
  await refused(bob.asks('ada', 'no, after you'), 'wait.cycle', /bob → ada → bob/)
  expect((await ada.call('agent.list', {})).agents.find(({ name }) => name === 'ada')).toMatchObject({
    waitingFor: { agent: 'bob' },
  })
  // Nothing was sent, and an answer is still possible.
  await bob.send('ada', 'thank you')
  expect((await reply).body).toBe('thank you')
  await ada.takes()
})

play('three agents cannot wait for each other in a circle', async ({ ada, bob, cy }) => {
  const first = ada.asks('bob', '1')
  await bob.takes('1')
  const second = bob.asks('cy', '2')
  await cy.takes('2')
  await refused(cy.asks('ada', '3'), 'wait.cycle', /cy → ada → bob → cy/)
  await cy.send('bob', 'go on')
  await second
  await bob.send('ada', 'go on')
  await first
  // The circle is open again.
  const third = cy.asks('ada', '3')
  await ada.takes('3')
  await ada.send('cy', 'fine')
  expect((await third).body).toBe('fine')
})

play('of two agents that ask each other at once, one is refused', async ({ ada, bob }) => {
  const both = [ada.asks('bob', 'you?'), bob.asks('ada', 'you?')]
  await eventually(async () => {
    const { agents } = await ada.call('agent.list', {})
    expect(agents.filter(({ waitingFor }) => waitingFor)).toHaveLength(1)
  })
  await ada.send('bob', 'me')
  await bob.send('ada', 'me')
  const outcomes = await Promise.allSettled(both)
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})

playOnSocket('a wait goes on when the daemon is started again', async ({ ada, bob, house }) => {
  const reply = ada.client.sendAndWait('bob', 'ready?')
  reply.catch(() => {})
  await bob.takes('ready?')
  await house.stop()
  await house.start()
  await bob.send('ada', 'yes')
  expect((await reply).content).toBe('yes')
  expect((await ada.call('workspace.status', {})).messages).toBe(2)
})

playOnSocket('a reply that came while the asker was away still ends the wait', async ({ ada, bob, house, enter }) => {
  const reply = ada.asks('bob', 'ready?')
  const [question] = await bob.takes('ready?')
  await bob.leaves()
  await house.stop()
  await house.start()
  const back = await enter({ name: 'bob', token: bob.token })
  await back.send('ada', 'yes', { replyTo: question?.id as string })
  expect((await reply).body).toBe('yes')
})

playOnSocket(
  'a wait that is given up while its message is written does not stand',
  async ({ ada, bob, house, clock }) => {
    const socket = connect(socketPathOf(house.dataDir, 'main'))
    const frame = (type: string, payload: object) => `${JSON.stringify({ v: 1, type, id: type, ts: 0, payload })}\n`
    const ask = { op: 'message.send', input: { to: 'bob', body: 'ready?', wait: { timeoutMs: 60_000 } } }
    socket.write(frame('HELLO', { name: 'hasty' }))
    await once(socket, 'data')
    // In one piece: the goodbye is heard before the message is committed.
    socket.write(frame('CALL', ask) + frame('BYE', {}))
    await eventually(async () => void (await bob.takes('ready?')))
    const asked = bob.asks('hasty', 'what?', { timeoutMs: 5_000 })
    await eventually(async () => expect((await ada.call('workspace.status', {})).messages).toBe(2))
    await clock.passes(5_000)
    await refused(asked, 'wait.timeout', /hasty/)
  },
)

async function isLive(asker: import('./play.ts').Actor, agent: string): Promise<boolean> {
  return (await asker.call('agent.list', {})).agents.some(({ name }) => name === agent)
}

async function waitsFor(asker: import('./play.ts').Actor): Promise<string | undefined> {
  const { agents } = await asker.call('agent.list', {})
  return agents.find(({ name }) => name === asker.client.agentName)?.waitingFor?.agent
}
