// A worker's task given again, with a real daemon and real programs: the same program, place and words as in the first request.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../src/machine/trust.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import type { Harness, LaunchContext } from '../../src/supervisor/harness/harness.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'
import { makeRepository } from '../work/repository-world.ts'
import { acpAgent, both, scripted, scriptedAgent, WorkerWorld } from './worker-world.ts'

/** The conversations that programs of the CLI `resuming` were started with. */
const conversations: LaunchContext['conversation'][] = []
const resuming: Harness = {
  ...scripted,
  name: 'resuming',
  canContinue: () => true,
  launch(context) {
    conversations.push(context.conversation)
    return scripted.launch(context)
  },
}

let world: WorkerWorld
beforeAll(async () => {
  world = await WorkerWorld.start({ harnesses: [scripted, plainHarness, acpHarness, resuming, both] })
})
afterAll(() => world.stop())

const retry = (name: string, by = world.lead) => by.call('worker.retry', { name })
const release = (name: string) => world.lead.call('worker.release', { name })

test('a worker that has exited is given its task again, by the same program', async () => {
  await world.hire('Ann', { task: 'count to ten' })
  await until(() => world.submitted('Ann').length === 1)
  await expect(retry('Ann')).rejects.toMatchObject({
    code: 'worker.running',
    message: expect.stringContaining('Release it first'),
  })
  const { worker: first } = await release('Ann')
  const { worker: second } = await retry('Ann')
  expect(second).toMatchObject({ name: 'Ann', cli: 'scripted', parent: 'Lead', cwd: world.root, again: first.id })
  await until(() => world.submitted('Ann').length === 2)
  const [before, after] = world.submitted('Ann')
  expect(after).toBe(before)
  expect(after).toContain('count to ten')
  const { workers } = await world.lead.call('worker.list', { whole: true })
  expect(workers.filter(({ name }) => name === 'Ann')).toMatchObject([{ task: 'count to ten', again: first.id }])
  await release('Ann')
  // And a third time, after the second.
  expect((await retry('Ann')).worker.again).toBe(second.id)
  await release('Ann')
})

test('the words are those that were asked for: what the configuration adds is not added twice', async () => {
  const project = join(world.root, 'project')
  mkdirSync(join(project, '.relay'), { recursive: true })
  const settings = { harness: { plain: { args: ['--set'] } } }
  writeFileSync(join(project, '.relay', 'config.json'), JSON.stringify(settings))
  trustConfig(projectConfig(project, world.dataDir) as ProjectConfigFile, world.dataDir)
  const command = ['sh', '-c', 'echo "words: $@"; sleep 100', 'sh']
  const wish = { name: 'Ben', cli: 'plain', command, args: ['--given'], cwd: project, task: 'go' }
  await world.lead.call('worker.spawn', wish)
  await release('Ben')
  await retry('Ben')
  const screen = async () => (await world.lead.call('worker.screen', { name: 'Ben' })).text
  await until(async () => (await screen()).includes('words:'))
  expect(await screen()).toContain('words: --set --given')
  expect(await screen()).not.toContain('--set --set')
  await release('Ben')
})

test('it gets a worktree again where it was asked for one, also when the first is gone', async () => {
  const repository = join(world.root, 'repository')
  makeRepository(repository)
  const wish = { name: 'Cy', cli: 'plain', command: ['sleep', '100'], cwd: repository, worktree: true, task: 'go' }
  const { worker: first } = await world.lead.call('worker.spawn', wish)
  expect((await release('Cy')).worker.worktree).toBeUndefined()
  const { worker: second } = await retry('Cy')
  expect(second).toMatchObject({ cwd: first.cwd, worktree: { branch: 'relay/Cy' } })
  await release('Cy')
})

test('an agent that speaks ACP is spoken to so again', async () => {
  const command = [process.execPath, acpAgent, '--log', world.logPath('Dee')]
  await world.lead.call('worker.spawn', { name: 'Dee', cli: 'acp', command, cwd: world.root, task: 'say it' })
  await release('Dee')
  const going = world.lead.call('worker.retry', { name: 'Dee', continue: true })
  await expect(going).rejects.toMatchObject({
    code: 'worker.no-conversation',
    message: expect.stringContaining('acp has reported no conversation that it could open again'),
  })
  expect((await retry('Dee')).worker).toMatchObject({ control: 'acp', cli: 'acp' })
  await release('Dee')
})

test('one that dies at once says so as a spawn does; a call that comes twice starts one program', async () => {
  const command = ['sh', '-c', 'test -e again && sleep 100; touch again; echo no luck; sleep 2']
  const cwd = join(world.root, 'once')
  mkdirSync(cwd)
  await world.lead.call('worker.spawn', { name: 'Eli', cli: 'plain', command, cwd, task: 'go' })
  await until(async () => (await world.status('Eli')) === 'exited')
  const [one, two] = [
    await world.lead.call('worker.retry', { name: 'Eli' }, { id: 'c_same' }),
    await world.lead.call('worker.retry', { name: 'Eli' }, { id: 'c_same' }),
  ]
  expect(two.worker.id).toBe(one.worker.id)
  await release('Eli')
  const dying = { name: 'Fay', cli: 'plain', command: ['sh', '-c', 'echo last words; exit 7'], cwd, task: 'go' }
  await expect(world.lead.call('worker.spawn', dying)).rejects.toThrow('Fay ended at once')
  await expect(retry('Fay')).rejects.toThrow(/^Fay ended at once: its program ended with code 7\n[\s\S]*last words/)
})

test('a person may, and it works for its parent as before; another agent learns nothing', async () => {
  await world.hire('Gil', { task: 'wait here' })
  await release('Gil')
  const other = await world.client('Other')
  await expect(retry('Gil', other)).rejects.toMatchObject({ code: 'worker.unknown' })
  const holder = await world.client('Keeper', world.key)
  expect((await retry('Gil', holder)).worker).toMatchObject({ parent: 'Lead' })
  await until(async () => (await world.told('Gil')).filter((body) => body.includes('is ready')).length === 2)
  const listed = async (by = world.lead) =>
    (await by.call('agent.list', { includeOffline: true })).agents.find(({ name }) => name === 'Gil')
  expect(await listed()).toMatchObject({ task: 'wait here' })
  expect(await listed(other)).not.toHaveProperty('task')
  await release('Gil')
  expect(await listed()).not.toHaveProperty('task')
})

test('one that goes on has the conversation and the worktree of before, and goes on twice', async () => {
  const repository = join(world.root, 'continued')
  makeRepository(repository)
  const command = [process.execPath, scriptedAgent, '--log', world.logPath('Hal')]
  const wish = { name: 'Hal', cli: 'resuming', command, cwd: repository, worktree: true, task: 'dig' }
  const { worker: first } = await world.lead.call('worker.spawn', wish)
  await until(() => world.submitted('Hal').length === 1)
  writeFileSync(join(first.cwd, 'draft.txt'), 'half done')
  await release('Hal')
  for (const count of [2, 3]) {
    const { worker } = await world.lead.call('worker.retry', { name: 'Hal', continue: true })
    expect(worker.cwd).toBe(first.cwd)
    await until(() => world.submitted('Hal').length === count)
    expect(world.submitted('Hal').at(-1)).toMatch(/goes on with this conversation\.[\s\S]*dig/)
    await release('Hal')
  }
  const id = conversations[0]?.id
  expect(conversations).toEqual([false, true, true].map((isContinued) => ({ id, isContinued })))
  // Without `continue`: a conversation and a worktree of its own.
  const { worker: fresh } = await retry('Hal')
  expect(fresh).toMatchObject({ worktree: { branch: 'relay/Hal-2' } })
  await until(() => world.submitted('Hal').length === 4)
  expect(world.submitted('Hal').at(-1)).not.toContain('goes on')
  expect(conversations.at(-1)).toMatchObject({ isContinued: false })
  expect(conversations.at(-1)?.id).not.toBe(id)
  await release('Hal')
})

test('over ACP it goes on where the agent can open its conversation again, and never in another one', async () => {
  const memory = join(world.root, 'memory')
  const spends = JSON.stringify({ cost: { amount: 0.75, currency: 'USD' } })
  const args = ['--log', world.logPath('Ida'), '--loads', memory]
  const wish = { name: 'Ida', cli: 'both', args, cwd: world.root, task: `spends ${spends}` }
  await world.lead.call('worker.spawn', wish)
  const isKept = async () =>
    (await world.lead.call('event.list', { types: ['worker.changed'], limit: 500 })).events.some(
      ({ fact }) => 'worker' in fact && fact.worker === 'Ida' && 'conversation' in fact,
    )
  const turns = async () => (await world.lead.call('spend.list', {})).spend.find(({ agent }) => agent === 'Ida')
  await until(async () => (await isKept()) && (await turns())?.turns === 1)
  await release('Ida')
  for (const count of [2, 3]) {
    const { worker } = await world.lead.call('worker.retry', { name: 'Ida', continue: true })
    expect(worker.control).toBe('acp')
    await until(() => world.submitted('Ida').length === count)
    expect(world.submitted('Ida').at(-1)).toContain('goes on with this conversation.')
    await until(async () => (await turns())?.turns === count)
    await release('Ida')
  }
  expect(
    world
      .log('Ida')
      .filter(({ event }) => ['session', 'loaded'].includes(event))
      .map(({ event }) => event),
  ).toEqual([...['session', 'loaded', 'loaded']])
  // What the agent repeats was paid for before, and is no edit.
  expect((await turns())?.usd).toBe(0.75 + 0.25 + 0.25)
  expect((await world.lead.call('claim.list', {})).claims).toEqual([])
  rmSync(memory)
  // On a busy machine the answer comes while it still starts.
  const retried = await world.lead.call('worker.retry', { name: 'Ida', continue: true }).catch((error) => error.message)
  if (typeof retried === 'string') expect(retried).toContain('Session not found')
  await until(async () => (await world.lead.call('worker.list', {})).workers.every(({ name }) => name !== 'Ida'))
  // It was not begun in its terminal instead.
  expect(world.submitted('Ida')).toHaveLength(3)
})
