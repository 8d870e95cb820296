// A full disk: the sender is told, reading goes on, nothing acknowledged is lost, and writing resumes without a restart.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Dispatch } from '../../src/broker/dispatch.ts'
import type { Session } from '../../src/broker/sessions/session.ts'
import { Workspace } from '../../src/broker/workspace.ts'
import { RefusalError } from '../../src/core/refusal-error.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { Store } from '../../src/store/store.ts'

let directory: string
let workspace: Workspace
let dispatch: Dispatch
let ada: Session
let bob: Session
let calls = 0
const fatal: Error[] = []

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'relay-full-'))
  const clock = { now: Date.now, steady: () => performance.now(), after: () => ({ cancel: () => {} }) }
  workspace = new Workspace({
    name: 'full',
    databasePath: join(directory, 'relay.db'),
    searchPath: ':memory:',
    clock,
    ids: makeIds(),
    onFatal: (error) => fatal.push(error),
    onTrouble: (error) => fatal.push(error),
  })
  await workspace.start(() => {})
  const info = {
    version: '0',
    uptimeMs: () => 0,
    lag: () => ({ p50: 0, p99: 0, max: 0 }),
    socketPath: () => '',
    url: () => undefined,
    agentProcesses: () => new Map(),
  }
  dispatch = new Dispatch(
    workspace,
    { names: () => [], atRest: () => [], awake: () => [], visit: async () => undefined },
    info,
  )
  ada = (await dispatch.openSession('owner', { name: 'ada' })).session
  bob = (await dispatch.openSession('owner', { name: 'bob' })).session
})
afterEach(() => {
  workspace.close()
  rmSync(directory, { recursive: true, force: true })
})

async function call(session: Session, op: string, input: object): Promise<Record<string, unknown>> {
  const { output, handedMessages: handed } = await dispatch.call(session, op, input, `c${calls++}`)
  dispatch.markReceived(session, handed)
  return output as Record<string, unknown>
}

const send = (body: string) => call(ada, 'message.send', { to: 'bob', body })
const codeOf = (error: unknown) => (error instanceof RefusalError ? error.refusal.code : String(error))
const bodies = (page: Record<string, unknown>) =>
  (page.messages as { body: string }[]).map(({ body }) => body.slice(0, 4))

/** No page more than there are now, and `spare` others. */
function fill(spare: number): void {
  const { database } = workspace.store
  const pages = Number(database.prepare('PRAGMA page_count').get()?.[0])
  database.exec(`PRAGMA max_page_count = ${pages + spare}`)
}

const free = () => workspace.store.database.exec('PRAGMA max_page_count = 1000000')

test('commands are refused while the disk is full, and accepted again when there is space', async () => {
  await send('0000')
  fill(20)
  const words = Array.from({ length: 60 }, (_, i) => `${String(i + 1).padStart(4, '0')} ${'x'.repeat(4_000)}`)
  const acknowledged = ['0000']
  // Ten at a time share a commit: those that fit are stored, the others refused, each for itself.
  for (let i = 0; i < words.length; i += 10) {
    const batch = words.slice(i, i + 10)
    const outcomes = await Promise.allSettled(batch.map(send))
    for (const [j, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') acknowledged.push((batch[j] as string).slice(0, 4))
      else expect(codeOf(outcome.reason)).toBe('store.full')
    }
  }
  expect(acknowledged.length).toBeGreaterThan(2)
  expect(acknowledged.length).toBeLessThan(40)
  await expect(send('x'.repeat(100_000))).rejects.toThrow(
    'The disk is full: nothing was stored. Free some space and try again.',
  )

  // Reading goes on.
  expect(bodies(await call(bob, 'inbox.peek', { limit: 500 }))).toEqual(acknowledged)
  expect(await call(bob, 'inbox.count', {})).toMatchObject({ total: acknowledged.length })
  expect(bodies(await call(bob, 'message.search', { text: 'xxxx*', limit: 500 })).length).toBeGreaterThan(0)
  expect(await call(ada, 'workspace.status', {})).toMatchObject({ messages: acknowledged.length })

  free()
  await send('last')
  acknowledged.push('last')
  expect(bodies(await call(bob, 'inbox.take', { limit: 500 }))).toEqual(acknowledged)
  expect(bodies(await call(bob, 'inbox.take', { limit: 500 }))).toEqual([])
  expect(workspace.store.isSound()).toBe(true)
  expect(fatal).toEqual([])

  // And so says the file.
  const reopened = new Store(join(directory, 'relay.db'))
  expect(runAllSteps(reopened.queries.messageCount(reopened.journal.lastSeq))).toBe(acknowledged.length)
  reopened.close()
})

test('messages that could not be marked as read on a full disk are marked when there is space', async () => {
  await send('0001')
  expect(bodies(await call(bob, 'inbox.take', {}))).toEqual(['0001'])
  const { database } = workspace.store
  // What is left of the last pages is filled too, so that even a small mark finds no room.
  fill(0)
  for (let i = 0; i < 200; i++) await send(`f${i} ${'y'.repeat(300)}`).catch(() => {})
  await call(bob, 'workspace.status', {}).catch(() => {})
  free()
  await call(bob, 'workspace.status', {})
  const page = await call(bob, 'inbox.peek', { limit: 500 })
  expect(bodies(page)).not.toContain('0001')
  expect(database.prepare('PRAGMA integrity_check').get()?.[0]).toBe('ok')
})

test('a name cannot be registered while the disk is full, and can be afterwards', async () => {
  fill(0)
  let refused: unknown
  for (let i = 0; i < 50 && !refused; i++) {
    await dispatch.openSession('owner', { name: `agent-${i}`, model: 'm'.repeat(200) }).catch((error) => {
      refused = error
    })
  }
  expect(codeOf(refused)).toBe('store.full')
  const before = workspace.store.queries.agentCount()
  free()
  const { welcome } = await dispatch.openSession('owner', { name: 'late' })
  expect(welcome.agent).toBe('late')
  expect(workspace.store.queries.agentCount()).toBe(before + 1)
  workspace.store.rebuild()
  expect(workspace.store.queries.agentCount()).toBe(before + 1)
})
