// Runs for programs, on every link: the agent that carries one out, the readers of its events, and its payload.

import { gunzipSync } from 'node:zlib'
import { limits, type Run } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { type Actor, eventually, play, refused } from './play.ts'

const begin = (actor: Actor, more: object = {}): Promise<Run> =>
  actor.call('run.start', { contract: 'Write the report.', harness: 'external', ...more })

async function fetched(actor: Actor, run: string): Promise<string> {
  const { gzip, size } = await actor.call('run.payload', { run })
  const text = gunzipSync(Buffer.from(gzip, 'base64')).toString()
  expect(Buffer.byteLength(text)).toBe(size)
  return text
}

play('a run is started, carried out by the agent it names, and completed', async ({ ada, bob, cy }) => {
  const run = await begin(ada, { agent: 'bob' })
  expect(run).toMatchObject({ status: 'running', parent: 'ada', agent: 'bob', harness: 'external' })
  const [told] = (await bob.call('inbox.take', {})).messages
  expect(told).toMatchObject({ from: 'ada', kind: 'directive', body: expect.stringMatching(/Write the report\.$/) })
  expect(told?.body).toContain(run.id)
  await refused(cy.call('run.complete', { run: run.id, summary: 'mine' }), 'run.unknown', /not found/)
  await refused(cy.call('run.stop', { run: run.id }), 'run.unknown', /not found/)
  await refused(ada.call('run.payload', { run: run.id }), 'run.no-payload', /no payload/)
  for (const party of [ada, bob])
    expect(await party.call('run.contract', { run: run.id })).toEqual({ contract: 'Write the report.' })
  await refused(cy.call('run.contract', { run: run.id }), 'run.unknown', /not found|No run/)
  const done = await bob.call('run.complete', { run: run.id, summary: 'written', payload: 'füñf' })
  expect(done).toMatchObject({ status: 'completed', summary: 'written', payloadSize: 6 })
  expect(await fetched(ada, run.id)).toBe('füñf')
  expect(await ada.call('run.stop', { run: run.id })).toMatchObject({ status: 'completed' })
  const { runs } = await ada.call('run.status', { runs: [run.id, 'run_none'] })
  expect(runs).toEqual([done, { id: 'run_none', error: expect.stringContaining('Agent not found: run_none') }])
  expect((await cy.call('run.list', {})).runs).toEqual([])
  expect((await bob.call('run.list', { status: 'completed' })).runs).toEqual([{ ...done, title: 'Write the report.' }])
})

play('the end of a run is told to the agents it concerns, and to no others', async ({ ada, bob, cy }) => {
  const seen: string[] = []
  await ada.client.watch({ types: ['run.*'] }, ({ type }) => seen.push(type)).ready
  const one = await begin(ada, { agent: 'bob' })
  const two = await begin(ada)
  await bob.call('run.complete', { run: one.id, summary: '' })
  const stopped = await ada.call('run.stop', { run: two.id, reason: 'not needed' })
  expect(stopped).toMatchObject({ status: 'stopped', stopReason: 'not needed' })
  expect(await ada.call('run.complete', { run: two.id, summary: 'late' })).toEqual(stopped)
  await eventually(() => expect(seen).toEqual(['run.started', 'run.started', 'run.completed', 'run.stopped']))
  expect((await bob.call('event.list', { types: ['run.*'] })).events.map(({ type }) => type)).toEqual([
    'run.started',
    'run.completed',
  ])
  expect((await cy.call('event.list', { types: ['run.*'] })).events).toEqual([])
})

play(
  'who asked for a run is told of its end, once, and by whoever did not ask',
  async ({ ada, bob, cy, enter, key }) => {
    const heard = ada.listens()
    const [done, dropped, own, mine] = [
      await begin(ada, { agent: 'bob' }),
      await begin(ada, { agent: 'bob' }),
      await begin(ada),
      await begin(ada, { agent: 'bob' }),
    ]
    const notice = (run: Run, words: string, payload = '') =>
      `Run ${run.id} (bob) is ${words}\n${payload}All of it: agent_status(["${run.id}"])`
    const handed = { run: done.id, summary: 'written', payload: 'füñf' }
    // A repeat, of the same call and as another one, changes nothing.
    for (const id of ['c1', 'c1', 'c2']) await bob.call('run.complete', handed, id)
    await ada.call('run.stop', { run: mine.id, reason: 'not needed' })
    await ada.call('run.complete', { run: own.id, summary: 'by myself' })
    const holder = await enter({ name: 'dan', key: key() })
    await holder.call('run.stop', { run: dropped.id, reason: 'no room' })
    await cy.send('ada', 'the last word')
    await heard.hears(
      notice(done, 'completed: written', `Payload: 6 bytes, to read it: agent_payload("${done.id}"). `),
      notice(dropped, 'stopped by dan: no room'),
      'the last word',
    )
  },
)

play(
  'the contract of a run that has ended is given again, for the agent that asked for it then',
  async ({ ada, bob, cy, enter, key }) => {
    const contract = '# Write the report.\nAll of it.'
    const first = await begin(ada, { agent: 'bob', contract })
    await refused(ada.call('run.start', { again: first.id }), 'run.running', /has not ended/)
    await refused(ada.call('run.start', { again: first.id, contract: 'x' }), 'input.invalid', /leave the others out/)
    await refused(ada.call('run.start', {}), 'input.invalid', /needs a contract/)
    await ada.call('run.stop', { run: first.id, reason: 'too slow' })
    await bob.call('inbox.take', {})
    const second = await ada.call('run.start', { again: first.id })
    expect(second).toMatchObject({
      status: 'running',
      parent: 'ada',
      agent: 'bob',
      harness: 'external',
      again: first.id,
    })
    const [told] = (await bob.call('inbox.take', {})).messages
    expect(told).toMatchObject({ from: 'ada', kind: 'directive' })
    expect(told?.body.endsWith(contract) && told.body.includes(second.id)).toBe(true)
    await bob.call('run.complete', { run: second.id, summary: 'written' })
    await refused(bob.call('run.start', { again: second.id }), 'run.not-yours', /belongs to/)
    await refused(cy.call('run.start', { again: second.id }), 'run.unknown', /not found/)
    // On the machine of ada, in whose name the contract is given again.
    const holder = await enter({ name: 'cy', key: key() })
    const third = await holder.call('run.start', { again: second.id })
    expect(third).toMatchObject({ parent: 'ada', agent: 'bob', again: second.id })
    const whole = { contract, again: second.id }
    expect((await ada.call('run.list', { whole: true, status: 'running' })).runs).toMatchObject([whole])
    expect((await bob.call('run.status', { runs: [third.id], whole: true })).runs).toMatchObject([whole])
    const taskOf = async (reader: Actor, more: object = {}) =>
      (await reader.call('agent.list', { includeOffline: true, ...more })).agents.find(({ name }) => name === 'bob')
        ?.task
    expect([await taskOf(ada), await taskOf(bob, { whole: true })]).toEqual(['Write the report.', contract])
    expect(await taskOf(cy)).toBeUndefined()
  },
)

play('a payload of the greatest size passes, one byte more is refused', async ({ ada }) => {
  const text = 'Line of a large report, "quoted".\n'
  const payload = text.repeat(Math.ceil(limits.payloadBytesMax / text.length)).slice(0, limits.payloadBytesMax)
  const { id: run } = await begin(ada)
  await refused(
    ada.call('run.complete', { run, summary: '', payload: `${payload}x` }),
    'input.invalid',
    /at most 8 MiB: write it to a file/,
  )
  expect(await ada.call('run.complete', { run, summary: '', payload })).toMatchObject({ payloadSize: payload.length })
  expect((await fetched(ada, run)) === payload).toBe(true)
})

play('a contract of the greatest length is handed over as a message like any other', async ({ ada, bob, enter }) => {
  const longest = await enter({ name: 'n'.repeat(64) })
  const contract = `${'x'.repeat(limits.contractBytesMax - 4)}End.`
  await refused(
    begin(ada, { agent: 'bob', contract: `${contract}.` }),
    'input.invalid',
    /a contract is at most 252 KiB/,
  )
  for (const [by, to] of [
    [ada, longest],
    [longest, bob],
  ] as const) {
    const { id } = await begin(by, { agent: to.name, contract })
    const [{ body } = { body: '' }] = (await to.call('inbox.take', {})).messages
    expect(body.includes(id) && body.endsWith(contract)).toBe(true)
    // What came can be passed on.
    await to.send('cy', body)
  }
})

play('an invalid contract, agent or harness is refused, and so is an unknown run', async ({ ada }) => {
  await refused(ada.call('run.start', { contract: '' }), 'input.invalid', /needs a contract/)
  await refused(begin(ada, { agent: 'nobody' }), 'agent.unknown', /nobody/)
  await refused(begin(ada, { agent: 'bob', harness: 'loop' }), 'input.invalid', /only an external run/)
  await refused(ada.call('run.complete', { run: 'run_none', summary: '' }), 'run.unknown', /run_none/)
  await refused(ada.call('run.payload', { run: 'run_none' }), 'run.unknown', /run_none/)
})
