// A worker's life with a scripted agent in a real terminal: hired, given a task, spoken to, stopped and continued, released.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aWhile, until } from '../../../../test/until.ts'
import { carrying, WorkerWorld } from './worker-world.ts'

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start()
})
afterAll(() => world.stop())

const last = (name: string) => world.submitted(name).at(-1) as string

test('a worker is hired, gets its task after its tools are there, answers, and is released without a trace', async () => {
  const task = 'call relay_send {"to":"Lead","message":"done with it"}'
  const { worker } = await world.spawn('Ann', { task })
  expect(worker.status).toBe('starting')
  expect(carrying(`RELAY_WORKER=${worker.id}`).length).toBeGreaterThan(0)
  await until(() => world.submitted('Ann').length === 1)
  expect(last('Ann')).toBe(
    '<system-reminder>\nYou are Ann, a worker of Lead over Agent Relay. Report with mcp__agent-relay__relay_send(to="Lead").\n' +
      `</system-reminder>\n${task}`,
  )
  await until(() => world.log('Ann').some(({ event }) => event === 'answered'))
  const { messages } = await world.lead.call('inbox.peek', { from: 'Ann' })
  expect(messages.map(({ body }) => body)).toEqual(['done with it'])
  expect(await world.told('Ann')).toEqual(['Worker "Ann" is ready.'])
  const folder = join(world.dataDir, 'projects', 'home', 'workers')
  expect(readdirSync(folder)).toHaveLength(1)
  const released = await world.lead.call('worker.release', { name: 'Ann', reason: 'enough' })
  expect(released.worker).toMatchObject({ status: 'exited', reason: 'released: enough' })
  expect(carrying(`RELAY_WORKER=${worker.id}`)).toEqual([])
  expect(existsSync(join(folder, worker.id))).toBe(false)
  expect(await world.status('Ann')).toBe('exited')
  // Who has released it knows.
  expect(await world.told('Ann')).toEqual(['Worker "Ann" is ready.'])
})

test('direct and channel messages are typed at an idle prompt, and count as offered, then as read', async () => {
  await world.hire('Bea')
  const { id } = await world.lead.call('message.send', { to: 'Bea', body: 'two\nlines' })
  await until(() => world.submitted('Bea').length === 1)
  expect(last('Bea')).toBe(
    `<system-reminder>\nRelay message from Lead [${id}]: two\n  lines\nAnswer with mcp__agent-relay__relay_send(to="Lead").\n</system-reminder>`,
  )
  const receipt = async () => (await world.lead.call('message.receipts', { message: id })).receipts[0]
  await until(async () => (await receipt())?.state === 'offered')
  expect(await receipt()).toMatchObject({ agent: 'Bea', route: 'paste' })
  await world.lead.call('message.send', {
    to: '#general',
    body: 'call relay_send {"to":"#general","message":"me too"}',
  })
  await until(async () => (await receipt())?.state === 'read')
  expect(last('Bea')).toContain('[#general]: call relay_send')
  expect(last('Bea')).toContain('Answer with mcp__agent-relay__relay_send(to="#general").')
  await world.lead.call('worker.release', { name: 'Bea' })
})

test('a worker can wait for the answer of another worker', async () => {
  await world.hire('Cat')
  await world.hire('Dan')
  const wait = { to: 'Dan', message: 'call relay_send {"to":"Cat","message":"forty-two"}', await_response: true }
  await world.lead.call('message.send', { to: 'Cat', body: `call relay_send ${JSON.stringify(wait)}` })
  await until(() => world.log('Cat').some(({ event }) => event === 'answered'))
  const answered = world.log('Cat').find(({ event }) => event === 'answered')
  expect(answered).toMatchObject({ tool: 'relay_send' })
  expect(answered?.text).toContain('forty-two')
  expect(world.submitted('Cat')).toHaveLength(1)
  await Promise.all(['Cat', 'Dan'].map((name) => world.lead.call('worker.release', { name })))
})

test('a paused worker gets nothing; what waited comes as one text when it is resumed', async () => {
  await world.hire('Eve')
  const { worker } = await world.lead.call('worker.pause', { name: 'Eve' })
  expect(worker.status).toBe('paused')
  for (const body of ['one', 'two', 'three']) await world.lead.call('message.send', { to: 'Eve', body })
  await aWhile(500)
  expect(world.submitted('Eve')).toEqual([])
  expect((await world.lead.call('worker.resume', { name: 'Eve' })).worker.status).not.toBe('paused')
  await until(() => world.submitted('Eve').length > 0)
  expect(world.submitted('Eve')).toHaveLength(1)
  for (const body of ['one', 'two', 'three']) expect(last('Eve')).toContain(`: ${body}\n`)
  await world.lead.call('worker.pause', { name: 'Eve' })
  expect((await world.lead.call('worker.release', { name: 'Eve' })).worker.status).toBe('exited')
})

test('the screen of a worker is seen by its parent alone, which may type into it', async () => {
  await world.hire('Fay')
  const { text } = await world.lead.call('worker.screen', { name: 'Fay' })
  expect(text).toContain('scripted agent')
  const stranger = await world.client('Stranger')
  await expect(stranger.call('worker.screen', { name: 'Fay' })).rejects.toThrow('may be seen by Lead, who hired it')
  await expect(stranger.call('worker.type', { name: 'Fay', data: 'x' })).rejects.toThrow('No worker is named')
  const seen: { data: string; isPast?: boolean }[] = []
  let ended = ''
  world.lead.follow('worker.follow', {
    input: () => ({ name: 'Fay' }),
    established: () => {},
    item: (item) => void seen.push(item),
    failed: (error) => {
      ended = error.message
    },
  })
  await until(() => seen.some(({ data, isPast }) => isPast === true && data.includes('scripted agent')))
  await world.lead.call('worker.resize', { name: 'Fay', cols: 60, rows: 20 })
  await world.lead.call('worker.type', { name: 'Fay', data: 'by hand\r' })
  await until(() => world.submitted('Fay').includes('by hand'))
  await until(() => seen.some(({ isPast }) => isPast === undefined))
  await world.lead.call('worker.release', { name: 'Fay' })
  await until(() => ended !== '')
  expect(ended).toContain('Worker "Fay" has exited: released')
})

test('when a worker ends, the workers that it hired end too, and no others', async () => {
  await world.hire('Mum')
  await world.lead.call('worker.spawn', { name: 'Aunt', cli: 'plain', command: ['cat'] })
  const { workspace } = await world.daemon.open('home')
  const session = workspace.sessions.openForDaemon('Mum')
  const asking = { by: 'Mum', id: 'c_hire', session, abandoned: session.ended }
  await workspace.workers.spawn(asking, { name: 'Kid', cli: 'plain', command: ['cat'] })
  await world.lead.call('worker.release', { name: 'Mum' })
  await until(async () => (await world.status('Kid')) === 'exited')
  const { workers } = await world.lead.call('worker.list', { all: true })
  expect(workers.find(({ name }) => name === 'Kid')?.reason).toBe('released: its parent Mum has exited')
  expect(await world.status('Aunt')).not.toBe('exited')
  await world.lead.call('worker.release', { name: 'Aunt' })
})

test("the daemon's own actions ask as their caller: a stranger may not release a worker, the key's holder may", async () => {
  await world.lead.call('worker.spawn', { name: 'Mine', cli: 'plain', command: ['cat'] })
  const { dispatch } = await world.daemon.open('home')
  const key = /rk_[\w-]+/.exec(readFileSync(join(world.dataDir, 'credentials.json'), 'utf8'))?.[0]
  const release = async (hello: { name: string; key?: string }) => {
    const { session } = await dispatch.openSession('owner', hello)
    const input = { name: 'agent.release', input: { name: 'Mine' } }
    const { output } = await dispatch.call(session, 'action.invoke', input, `c_${hello.name}`)
    return output
  }
  expect(await release({ name: 'Eve' })).toMatchObject({
    ok: false,
    error: { message: expect.stringContaining('No worker is named "Mine"') },
  })
  expect(await world.status('Mine')).not.toBe('exited')
  expect(await release({ name: 'Boss', key })).toMatchObject({ ok: true })
  expect(await world.status('Mine')).toBe('exited')
  expect((await world.told('Mine')).some((body) => body.startsWith('Worker "Mine" exited: released'))).toBe(true)
})

test('a program that reads lines gets a long message whole, in several', async () => {
  const path = join(world.root, 'lines.log')
  const script = `while IFS= read -r line; do printf '%s\\n' "$line" >> '${path}'; done`
  await world.lead.call('worker.spawn', { name: 'Reader', cli: 'plain', command: ['sh', '-c', script] })
  const words = Array.from({ length: 2_000 }, (_, n) => `wörd${n}`).join(' ')
  await world.lead.call('message.send', { to: 'Reader', body: words })
  const heard = () => (existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\n', '') : '')
  await until(() => heard().includes('wörd1999'))
  expect(heard()).toContain(words)
  await world.lead.call('worker.release', { name: 'Reader' })
})
