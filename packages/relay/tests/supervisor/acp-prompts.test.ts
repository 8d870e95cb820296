// Prompts to an ACP agent: each is taken at the first sign that the model works on it, and otherwise kept, given again, or reported as
// refused. The agent is scripted, and runs in a process of its own.

import { findEdits } from '@agent-relay/mcp/edits'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { WorkerEdits } from '../../src/broker/claims/worker-edits.ts'
import type { WorkerRow } from '../../src/core/view.ts'
import { AcpControl } from '../../src/supervisor/control/acp-control.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import type { AcpHarness } from '../../src/supervisor/harness/harness.ts'
import { ProgramOutput } from '../../src/supervisor/output.ts'
import { acpAgent, both, WorkerWorld } from './worker-world.ts'

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start({ harnesses: [acpHarness, both] })
})
afterAll(() => world.stop())

const command = (name: string, ...args: string[]) => [process.execPath, acpAgent, '--log', world.logPath(name), ...args]
const hire = async (name: string, ...args: string[]) => {
  await world.lead.call('worker.spawn', { name, cli: 'acp', command: command(name, ...args), cwd: world.root })
  await until(() => world.isReady(name))
}
const send = async (to: string, body: string) => (await world.lead.call('message.send', { to, body })).id
const screen = async (name: string) => (await world.lead.call('worker.screen', { name, lines: 500 })).text
const type = (name: string, data: string) => world.types(name, data)
const release = (name: string) => world.lead.call('worker.release', { name })

test('a prompt that is refused is not offered, and its parent is told why', async () => {
  await hire('Refuses')
  const id = await send('Refuses', 'refuse')
  await until(async () => (await world.status('Refuses')) === 'blocked')
  await until(async () => (await world.told('Refuses')).some((text) => text.includes('Authentication required')))
  const { receipts } = await world.lead.call('message.receipts', { message: id })
  expect(receipts[0]?.state).toBe('stored')
  await release('Refuses')
})

test('a task that is refused late is kept, and given again when the agent listens', async () => {
  const task = 'refuse 1500 say done'
  await world.lead.call('worker.spawn', {
    ...{ name: 'Later', cli: 'acp', command: command('Later', '--refuses', '1'), cwd: world.root, task },
  })
  await until(async () => (await world.told('Later')).some((text) => text.includes('it refused: Authentication')))
  expect(world.submitted('Later')).toHaveLength(1)
  await type('Later', 'say hello\r')
  await until(() => world.submitted('Later').length === 3)
  expect(world.submitted('Later').map((text) => text.includes(task))).toEqual([true, false, true])
  await until(async () => (await screen('Later')).includes('done'))
  await release('Later')
})

test('of a task that is refused three times its parent is told, in the words of the agent, and mail goes on', async () => {
  const input = { name: 'Thrice', cli: 'acp', command: command('Thrice'), cwd: world.root }
  await world.lead.call('worker.spawn', { ...input, task: 'refuse' })
  const given = () => world.submitted('Thrice').filter((text) => text.includes('refuse'))
  for (const times of [1, 2]) {
    await until(() => given().length === times)
    await type('Thrice', 'say go\r')
  }
  const words = 'has refused its task 3 times, and is not given it again: Authentication required.'
  await until(async () => (await world.told('Thrice')).some((text) => text.includes(words)))
  const id = await send('Thrice', 'say mail')
  await type('Thrice', 'say go\r')
  await until(() => world.submitted('Thrice').some((text) => text.includes(id)))
  expect(given()).toHaveLength(3)
  await release('Thrice')
})

test('mail that is refused late is not offered, waits, and is given once more', async () => {
  await hire('Once', '--refuses', '1')
  const id = await send('Once', 'refuse 1500 say heard')
  const state = async () => (await world.lead.call('message.receipts', { message: id })).receipts[0]?.state
  await until(async () => (await world.status('Once')) === 'blocked')
  expect(await state()).toBe('stored')
  await type('Once', 'say go\r')
  await until(async () => (await state()) === 'offered')
  await until(async () => (await world.status('Once')) === 'idle')
  expect(world.submitted('Once').filter((text) => text.includes(id))).toHaveLength(2)
  await release('Once')
})

test('mail of a turn that ends without a word is given once', async () => {
  await hire('Short')
  for (let n = 0; n < 10; n++) {
    const id = await send('Short', 'nothing')
    await until(() => world.submitted('Short').some((text) => text.includes(id)))
  }
  await until(async () => (await world.status('Short')) === 'idle')
  expect(world.submitted('Short')).toHaveLength(10)
  await release('Short')
})

test('a prompt finds a turn that a person has begun since the last look: it is not given', async () => {
  const { workspace } = await world.daemon.open('home')
  const listener = {
    ...{
      onChange() {},
      onExit() {},
      onBroken() {},
      onSpent() {},
      onConversation() {},
      onTrouble: (error: Error) => void world.troubles.push(error),
    },
  }
  const [file = '', ...args] = command('Race')
  const control = AcpControl.start({
    ...{ file, args, cwd: world.root, env: process.env as Record<string, string>, mcpServers: [], listener },
    row: { id: 'race', name: 'Race', cli: 'acp', cwd: world.root } as WorkerRow,
    harness: acpHarness.acp as AcpHarness,
    approvals: workspace.approvals,
    edits: new WorkerEdits(workspace, '', findEdits),
    output: new ProgramOutput({ cols: 80, rows: 24 }, () => {}),
  })
  await until(async () => (await control.look()).state === 'idle')
  control.type('hang\r')
  const told: string[] = []
  await control.prompt('say mail', { onTaken: async () => void told.push('taken'), onRefused: () => told.push('not') })
  expect(told).toEqual(['not'])
  expect(await control.look()).toEqual({ state: 'busy' })
  control.type('\x03')
  await until(async () => (await control.look()).state === 'idle')
  expect(world.submitted('Race')).toEqual(['hang'])
  control.end()
})

test('one that does not read any more in its first turn is typed into instead, and given its task again', async () => {
  const args = ['--log', world.logPath('Deaf')]
  await world.lead.call('worker.spawn', { name: 'Deaf', cli: 'both', args, cwd: world.root, task: 'deaf' })
  await until(() => world.submitted('Deaf').length === 2)
  expect(world.submitted('Deaf').every((text) => text.endsWith('deaf'))).toBe(true)
  const told = 'it is typed into in its terminal instead. It gets its task there, from the beginning.'
  await until(async () => (await world.told('Deaf')).some((text) => text.includes(told)))
  await release('Deaf')
})

test('one that does not read any more after a turn is ended: a terminal would know nothing of that turn', async () => {
  const args = ['--log', world.logPath('Deafened')]
  await world.lead.call('worker.spawn', { name: 'Deafened', cli: 'both', args, cwd: world.root, task: 'say well' })
  await until(async () => (await screen('Deafened')).includes('end_turn'))
  await send('Deafened', 'deaf')
  const told = 'exited: it cannot be spoken to over ACP: it does not read what it is sent'
  await until(async () => (await world.told('Deafened')).some((text) => text.includes(told)))
  expect((await world.told('Deafened')).join()).not.toContain('instead')
})

test('nothing went wrong that nobody was told of', () => expect(world.troubles).toEqual([]))
