// A database that is damaged in its middle: callers that meet the damage are told the file and the fix, and everybody else goes on.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds, type Refusal } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { aWhile } from '../../../../test/until.ts'
import { Dispatch } from '../../src/broker/dispatch.ts'
import type { Session } from '../../src/broker/sessions/session.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import { RefusalError } from '../../src/core/refusal-error.ts'
import { reportingClock, systemClock } from '../../src/machine/clock.ts'
import { repairCommands } from '../../src/store/damage.ts'
import { loud } from '../broker/loud.ts'
import { makeRepository } from '../work/repository-world.ts'
import { plantDamage } from './damage-world.ts'

let directory: string
let path: string
let workspace: Workspace
let dispatch: Dispatch
let calls = 0

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'relay-damage-'))
  path = join(directory, 'relay.db')
  await open(`${path}.origin`)
  const ada = await enter('ada')
  await enter('bob')
  for (let n = 1; n <= 60; n++) await call(ada, 'message.send', { to: 'bob', body: `body-${n}- ${'x'.repeat(500)}` })
  // A copy of the file alone: a connection of this process lives on until it is collected.
  workspace.store.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  workspace.close()
  copyFileSync(`${path}.origin`, path)
  plantDamage(path, 'body-30-')
  await open()
})
afterEach(() => {
  workspace.close()
  rmSync(directory, { recursive: true, force: true })
})

async function open(databasePath = path, onTrouble: (error: Error) => void = loud.onTrouble): Promise<void> {
  workspace = new Workspace({
    name: 'damage',
    databasePath,
    searchPath: join(directory, 'search.db'),
    clock: systemClock,
    ids: makeIds(),
    ...loud,
    onTrouble,
  })
  await workspace.start(() => {})
  const lag = () => ({ p50: 0, p99: 0, max: 0 })
  const info = {
    version: '0',
    uptimeMs: () => 0,
    lag,
    socketPath: () => '',
    url: () => undefined,
    agentProcesses: () => new Map(),
  }
  dispatch = new Dispatch(
    workspace,
    { names: () => [], atRest: () => [], awake: () => [], visit: async () => undefined },
    info,
  )
}

const enter = async (name: string) => (await dispatch.openSession('owner', { name })).session
const call = async (session: Session, op: string, input: object) =>
  (await dispatch.call(session, op, input, `c${calls++}`)).output as Record<string, unknown>

async function refusedBy(work: Promise<unknown>): Promise<Refusal> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(RefusalError)
  return (error as RefusalError).refusal
}

test('reads, searches and writes that meet damage name the file and the fix; all others go on', async () => {
  const bob = await enter('bob')
  const meets = [
    call(bob, 'inbox.peek', { limit: 500 }),
    call(bob, 'inbox.take', { limit: 500 }),
    call(bob, 'event.list', { since: 0, limit: 500 }),
    call(bob, 'message.search', { text: 'body' }),
  ]
  for (const refused of await Promise.all(meets.map(refusedBy))) {
    expect(refused).toMatchObject({
      code: 'workspace.damaged',
      retry: false,
      details: { path, ...repairCommands(path) },
    })
    expect(refused.message).toContain(`${path} is damaged (`)
    for (const fix of Object.values(repairCommands(path))) expect(refused.message).toContain(fix)
  }
  expect(await call(bob, 'channel.list', {})).toMatchObject({ channels: [{ name: '#general' }] })
  expect(await call(bob, 'message.send', { to: 'ada', body: 'still here' })).toMatchObject({ id: expect.any(String) })
})

test.each(['event.follow', 'inbox.follow'])('%s ends with the refusal, and the daemon goes on', async (op) => {
  const bob = await enter('bob')
  const ended = new Promise<Refusal>((resolve) => {
    dispatch.watch(bob, op, { since: 0 }, { isReady: () => true, item: () => {}, end: resolve })
  })
  expect(await ended).toMatchObject({ code: 'workspace.damaged', details: { path } })
  expect(await call(bob, 'channel.list', {})).toMatchObject({ channels: [{ name: '#general' }] })
})

test('whoever also follows who comes and goes is told nothing after the refusal', async () => {
  const bob = await enter('bob')
  const told: string[] = []
  const ended = new Promise<Refusal>((end) => {
    const item = (event: unknown) => told.push((event as { type: string }).type)
    dispatch.watch(bob, 'event.follow', { since: 0, types: ['*', 'session.event'] }, { isReady: () => true, item, end })
  })
  await ended
  told.length = 0
  await enter('late')
  await aWhile()
  expect(told).toEqual([])
})

test('a damaged search index is made again, and searches go on', async () => {
  workspace.close()
  await open(join(directory, 'other.db'))
  const ada = await enter('ada')
  await enter('bob')
  await call(ada, 'message.send', { to: 'bob', body: 'needle' })
  await call(ada, 'message.search', { text: 'needle' })
  workspace.close()
  const index = join(directory, 'search.db')
  writeFileSync(index, readFileSync(index).fill(0xa5, 100))
  await open(join(directory, 'other.db'))
  expect(await call(await enter('ada'), 'message.search', { text: 'needle' })).toMatchObject({
    messages: [{ body: 'needle' }],
  })
})

test('a session whose end meets damage ends, and so do those after it; the damage is told', async () => {
  workspace.close()
  const other = join(directory, 'claims.db')
  const troubles: Error[] = []
  await open(other, (error) => void troubles.push(error))
  const repository = join(directory, 'repository')
  makeRepository(repository)
  const [ada, bob] = [await enter('ada'), await enter('bob')]
  const files = Array.from({ length: 200 }, (_, n) => `file-${n}-of-many.txt`)
  await call(ada, 'claim.add', { cwd: repository, files })
  // The file goes bad while it is open: only what was read before is still known.
  workspace.store.database.exec('PRAGMA wal_checkpoint(FULL)')
  while (readFileSync(other).includes('file-150-of-many')) plantDamage(other, 'file-150-of-many')
  workspace.store.database.exec('PRAGMA shrink_memory')
  for (const session of [ada, bob]) {
    workspace.sessions.end(session)
    expect(session.ended.aborted).toBe(true)
  }
  expect(troubles.map((error) => (error as RefusalError).refusal?.code)).toContain('workspace.damaged')
  expect(await call(await enter('bob'), 'channel.list', {})).toMatchObject({ channels: [{ name: '#general' }] })
})

test('work that meets damage at its time ends nothing but itself', async () => {
  const clock = new PlayClock()
  const troubles: Error[] = []
  const done: string[] = []
  const { after } = reportingClock(clock, (error) => void troubles.push(error))
  after(10, () => {
    throw new Error('damaged')
  })
  after(20, () => void done.push('later'))
  await clock.passes(30)
  expect(troubles.map(({ message }) => message)).toEqual(['damaged'])
  expect(done).toEqual(['later'])
})
