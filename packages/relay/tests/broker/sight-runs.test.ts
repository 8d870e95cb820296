// Sight of runs and workers: only those concerned, people and the key's holder see them. For everybody else they seem not to exist.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { HttpWorld, type Json } from '../wires/http-world.ts'

let world: HttpWorld
let run: string
const secret = 'a-secret-of-the-command-line'
beforeAll(async () => {
  world = await HttpWorld.start()
  await world.api('agent.register', { name: 'Pat', type: 'human' })
  for (const name of ['Ada', 'Bob', 'Eve']) await world.token(name)
  const started = await world.api('run.start', { contract: 'Hidden.', agent: 'Bob' }, world.as('Ada'))
  run = started.body.id
  await world.api('run.complete', { run, summary: 'A secret summary.', payload: 'secret' }, world.as('Bob'))
  const hired = { name: 'Wes', cli: 'plain', command: ['sh', '-c', `sleep 60; : ${secret}`], cwd: '/' }
  expect((await world.api('worker.spawn', hired, world.as('Ada'))).status).toBe(200)
})
afterAll(() => world.stop())

const ask = async (operation: string, input: object, by: string): Promise<Json> =>
  (await world.api(operation, input, world.as(by))).body
const types = async (by: string, type: string) =>
  (await ask('event.list', { types: [type], limit: 500 }, by)).events.map((event: Json) => event.type)

test('who sees a run, its payload, its contract and its events', async () => {
  for (const by of ['Ada', 'Bob', 'Pat']) {
    expect([by, (await ask('run.status', { runs: [run] }, by)).runs[0].summary]).toEqual([by, 'A secret summary.'])
    expect([by, (await ask('run.payload', { run }, by)).size]).toEqual([by, 6])
    expect([by, (await ask('run.contract', { run }, by)).contract]).toEqual([by, 'Hidden.'])
    // People who want to follow every run show the key.
    expect([by, await types(by, 'run.*')]).toEqual([by, by === 'Pat' ? [] : ['run.started', 'run.completed']])
  }
  expect((await world.api('run.payload', { run })).body.size).toBe(6)
})

test('an agent that may not see a run gets the same answer as for an unknown run', async () => {
  const unknown = run.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const inputs: [string, (id: string) => object][] = [
    ['run.status', (id) => ({ runs: [id] })],
    ['run.payload', (id) => ({ run: id })],
    ['run.contract', (id) => ({ run: id })],
    ['run.stop', (id) => ({ run: id })],
    ['run.complete', (id) => ({ run: id, summary: 'mine' })],
  ]
  for (const [operation, input] of inputs) {
    const hidden = JSON.stringify(await ask(operation, input(run), 'Eve'))
    expect([operation, hidden]).toEqual([
      operation,
      JSON.stringify(await ask(operation, input(unknown), 'Eve')).replaceAll(unknown, run),
    ])
  }
  expect(await types('Eve', 'run.*')).toEqual([])
  expect((await ask('run.list', {}, 'Eve')).runs).toEqual([])
})

test('a worker, its command line and its events are seen by its parent and by itself', async () => {
  for (const by of ['Ada', 'Pat']) {
    expect((await ask('worker.list', {}, by)).workers.map(({ name }: Json) => name)).toEqual(['Wes'])
    expect(JSON.stringify(await ask('event.list', { types: ['worker.wished'] }, by))).toContain(secret)
    expect((await ask('run.status', { runs: ['Wes'] }, by)).runs[0]).toMatchObject({ parent: 'Ada' })
  }
  for (const by of ['Bob', 'Eve']) {
    expect((await ask('worker.list', { all: true }, by)).workers).toEqual([])
    expect(await types(by, 'worker.*')).toEqual([])
    expect((await ask('run.status', { runs: ['Wes'] }, by)).runs[0]).toEqual({
      ...(await ask('run.status', { runs: ['Nil'] }, by)).runs[0],
      id: 'Wes',
      error: expect.stringContaining('Agent not found: Wes.'),
    })
    expect(JSON.stringify(await ask('event.list', { limit: 500 }, by))).not.toContain(secret)
  }
})

test('an agent that may not see a screen is told who may, and which command shows it', async () => {
  for (const by of ['Bob', 'Eve'])
    expect((await ask('worker.screen', { name: 'Wes' }, by)).error).toMatchObject({
      code: 'worker.screen-hidden',
      message:
        'The screen of worker "Wes" may be seen by Ada, who hired it, by people, and by agents that the policy names. ' +
        `A person can allow it: agent-relay workspace policy set --terminal "${by}=Wes"`,
    })
  await world.api('workspace.set-policy', { terminal: { '*': ['Wes'] } })
  expect(await ask('worker.screen', { name: 'Wes' }, 'Eve')).toHaveProperty('text')
  await world.api('workspace.set-policy', { terminal: {} })
})

test('an agent that may not see a worker gets the same answer as for an unknown worker', async () => {
  for (const operation of ['release', 'pause', 'resume', 'resize']) {
    const answer = async (name: string, by: string) =>
      JSON.stringify(await ask(`worker.${operation}`, { name, cols: 80, rows: 24 }, by))
    for (const by of ['Bob', 'Eve']) {
      const unknown = (await answer('Wez', by)).replaceAll('Wez', 'Wes')
      expect(unknown).toContain('worker.unknown')
      expect([operation, await answer('Wes', by)]).toEqual([operation, unknown])
    }
  }
})
