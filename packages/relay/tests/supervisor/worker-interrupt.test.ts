// Interrupting a worker's turn: who may, and programs that cannot be interrupted, or do not stop. controls.test.ts has what every control does.

import { limits } from '@agent-relay/sdk/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { acpAgent, WorkerWorld } from './worker-world.ts'

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start()
})
afterAll(() => world.stop())

const interrupt = (name: string, by = world.lead) => by.call('worker.interrupt', { name })
const notEnded = 'Its turn has not ended yet.'
const release = (name: string) => world.lead.call('worker.release', { name })
const isBusy = (name: string) => until(async () => (await world.status(name)) === 'busy')
const interrupted = async (name: string) => {
  const { events } = await world.lead.call('event.list', { types: ['worker.interrupted'] })
  return events.filter(({ fact }) => (fact as { worker?: string }).worker === name)
}

test('by who hired it and by who holds the key, and by nobody else', async () => {
  await world.hire('Ann', { task: 'busy 60000' })
  await isBusy('Ann')
  const guest = await world.client('Guest')
  await expect(interrupt('Ann', guest)).rejects.toMatchObject({ code: 'worker.unknown' })
  await expect(interrupt('Nobody')).rejects.toMatchObject({ code: 'worker.unknown' })
  expect(world.log('Ann').filter(({ event }) => event === 'escape')).toEqual([])
  const holder = await world.client('Holder', world.key)
  expect((await interrupt('Ann', holder)).note).toBeUndefined()
  await until(async () => (await world.status('Ann')) === 'idle')
  expect(await interrupted('Ann')).toMatchObject([{ by: 'Holder' }])
  await release('Ann')
})

test('one that is still starting is not in a turn, and gets no key', async () => {
  await world.spawn('Bea', { args: ['--slow-start', '2500'] })
  await expect(interrupt('Bea')).rejects.toMatchObject({
    ...{ code: 'worker.no-turn', message: expect.stringContaining('it is still starting') },
  })
  await until(() => world.isReady('Bea'))
  expect(world.log('Bea').filter(({ event }) => event === 'escape')).toEqual([])
  expect(await interrupted('Bea')).toEqual([])
  await release('Bea')
})

test('a program that the relay knows no key of is left alone, and the refusal says what to do', async () => {
  const command = ['sh', '-c', 'echo ready; cat']
  await world.lead.call('worker.spawn', { name: 'Cat', cli: 'plain', command, cwd: world.root })
  await expect(interrupt('Cat')).rejects.toMatchObject({
    code: 'worker.no-interrupt',
    message: expect.stringMatching(/^The relay knows no way to interrupt worker "Cat" \(plain\)\. To end it: /),
  })
  await release('Cat')
})

test('a program that goes on is said to be still at work; two interrupts at once press one key', async () => {
  await world.hire('Dan', { task: 'busy 60000', args: ['--ignore-escape'] })
  await isBusy('Dan')
  const answers = await Promise.all([interrupt('Dan'), interrupt('Dan')])
  expect(answers.map(({ note }) => note)).toEqual([notEnded, notEnded])
  expect(await world.status('Dan')).toBe('busy')
  expect(world.log('Dan').filter(({ event }) => event === 'escape')).toHaveLength(1)
  // A release does not wait for an interrupt.
  const late = interrupt('Dan').then(
    () => 'answered',
    ({ code }) => code,
  )
  await release('Dan')
  expect(await world.status('Dan')).toBe('exited')
  // Its program may have gone before the interrupt was answered.
  expect(['answered', 'worker.exited']).toContain(await late)
})

test('a program that does not read holds up neither the answer nor its release', async () => {
  await world.hire('Hal', { task: 'busy 60000' })
  await isBusy('Hal')
  const { workers } = await world.lead.call('worker.list', {})
  process.kill(workers.find(({ name }) => name === 'Hal')?.pid as number, 'SIGSTOP')
  await world.types('Hal', 'x'.repeat(limits.keysBytesMax))
  expect((await interrupt('Hal')).note).toBe(notEnded)
  await release('Hal')
  expect(await world.status('Hal')).toBe('exited')
})

test('over ACP what it asks after the interrupt is not put to anybody', async () => {
  const command = [process.execPath, acpAgent, '--log', world.logPath('Eve')]
  await world.lead.call('worker.spawn', {
    name: 'Eve',
    cli: 'acp',
    command,
    task: 'busy 60000 ask 1 late',
    cwd: world.root,
  })
  await until(() => world.submitted('Eve').length === 1)
  await isBusy('Eve')
  await interrupt('Eve')
  await until(() => world.log('Eve').some(({ event }) => event === 'permission'))
  expect(world.log('Eve').filter(({ event }) => event === 'permission')).toMatchObject([{ outcome: 'cancelled' }])
  const { events } = await world.lead.call('event.list', { types: ['approval.opened'] })
  expect(events.filter(({ fact }) => (fact as { agent?: string }).agent === 'Eve')).toEqual([])
  await release('Eve')
})

test('over ACP a prompt that was refused is no turn', async () => {
  const command = [process.execPath, acpAgent, '--log', world.logPath('Fay')]
  await world.lead.call('worker.spawn', { name: 'Fay', cli: 'acp', command, task: 'refuse', cwd: world.root })
  await until(async () => (await world.status('Fay')) === 'blocked')
  await expect(interrupt('Fay')).rejects.toMatchObject({ code: 'worker.no-turn' })
  await release('Fay')
})

test('a call that comes twice interrupts one turn', async () => {
  await world.hire('Gus', { task: 'busy 60000' })
  await isBusy('Gus')
  const again = () => world.lead.call('worker.interrupt', { name: 'Gus' }, { id: 'twice' })
  await again()
  await until(async () => (await world.status('Gus')) === 'idle')
  await world.lead.call('message.send', { to: 'Gus', body: 'busy 60001' })
  await isBusy('Gus')
  expect((await again()).note).toBeUndefined()
  expect(await interrupted('Gus')).toHaveLength(1)
  expect(world.log('Gus').filter(({ event }) => event === 'escape')).toHaveLength(1)
  await release('Gus')
  await expect(again()).rejects.toMatchObject({ code: 'worker.exited' })
})

test('nothing went wrong that nobody was told of', () => expect(world.troubles).toEqual([]))
