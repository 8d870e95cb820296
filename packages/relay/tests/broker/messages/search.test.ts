// Filling of the search index: by itself after a while, to the end before a search answers; and a failing index harms nobody.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aWhile, until } from '../../../../../test/until.ts'
import { ReadTimeBudget } from '../../../src/broker/long-reads.ts'
import { Workspace } from '../../../src/broker/workspace.ts'
import { Database } from '../../../src/store/database.ts'
import { loud } from '../loud.ts'

let directory: string
let path: string
let workspace: Workspace
let sent = 0

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'relay-find-'))
  path = join(directory, 'sub', 'search.db')
  workspace = new Workspace({
    name: 'find',
    databasePath: ':memory:',
    searchPath: path,
    clock: { now: Date.now, steady: () => performance.now(), after: () => ({ cancel: () => {} }) },
    ids: makeIds(),
    ...loud,
  })
  await workspace.start(() => {})
  const credentials = { proven: false, isHolder: false, mayRetake: true }
  for (const name of ['ada', 'bob']) {
    const input = { name, tokenHash: name, ...credentials }
    await workspace.engine.submit({ rule: 'agent.register', input, by: name, cause: name })
  }
})
afterEach(() => {
  workspace.close()
  rmSync(directory, { recursive: true, force: true })
})

const send = (body: string) =>
  workspace.engine.submit({ rule: 'message.send', input: { to: 'bob', body }, by: 'ada', cause: `c${sent++}` })
const bob = { agent: 'bob', standing: { rank: 'agent' as const } }
const budget = new ReadTimeBudget(60_000)
const never = new AbortController().signal
const find = async (text: string) =>
  (await workspace.reads.run(workspace.search.find(bob, { text, limit: 10 }, budget), budget, never)).messages

test('an index that cannot be opened stops neither messages nor the daemon, and works once it can', async () => {
  await send('owls')
  // Its time to be filled comes and goes.
  await aWhile(700)
  await expect(find('owls')).rejects.toThrow()
  mkdirSync(join(directory, 'sub'))
  await send('more owls')
  expect((await find('owls')).map(({ body }) => body)).toEqual(['more owls', 'owls'])
})

test('the index is filled when the daemon has nothing else to do', async () => {
  mkdirSync(join(directory, 'sub'))
  for (let i = 0; i < 100; i++) await send(`owl ${i}`)
  const indexed = () => {
    // It may not be made yet.
    if (!existsSync(path)) return 0
    const index = new Database(path)
    try {
      return Number(index.prepare('SELECT max(seq) FROM progress').get()?.[0] ?? 0)
    } catch {
      return 0
    } finally {
      index.close()
    }
  }
  await until(() => indexed() === workspace.store.journal.lastSeq)
})
