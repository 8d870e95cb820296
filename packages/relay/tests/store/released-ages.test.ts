// Data directories that each earlier schema's own build has written: everything in them is as that build said it was, after they are opened, backed up,
// restored, exported, imported, shared, taken back and pruned.

import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isFull, sized } from '../../../../test/size.ts'
import { Database } from '../../src/store/database.ts'
import { migrationSteps } from '../../src/store/migrations.ts'
import { Store } from '../../src/store/store.ts'
import { PostgresServer } from '../cluster/postgres-server.ts'
import type { Answers } from './released/questions.mjs'
import { comparable, fixtures, mapValues, ReleasedWorld } from './released/released-world.ts'

// The first release, one whose log was not merged because its daemon was killed, and the newest.
const ages = sized([fixtures[0] as string, 'schema-28-killed', fixtures.at(-1) as string], fixtures)
const workspaces = ['app', 'second']

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
afterAll(() => server?.end())

test('there is a fixture of every schema that was on the main branch by itself', () => {
  const made = fixtures.map((name) => Number(name.split('-')[1]))
  expect([...new Set(made)]).toEqual([6, 24, 25, 26, 27, 28, 29, 30, 31, 32])
})

/** What an earlier build could not be asked is no difference. */
function defined<T extends object>(answers: T): T {
  return JSON.parse(JSON.stringify(answers))
}

describe.each(ages)('%s', (fixture) => {
  let released: ReleasedWorld
  let said: Record<string, Answers>

  beforeAll(async () => {
    released = new ReleasedWorld(fixture)
    said = released.said.answers
    await released.joinCluster(server, fixture)
  })
  afterAll(async () => {
    await released?.close()
    expect(released?.troubles).toEqual([])
  })

  const through = (name: string) => released.said.workspaces[name]?.seq as number
  async function expectAll(): Promise<void> {
    for (const name of workspaces) {
      const found = await released.ask(name)
      expect(comparable(found, through(name))).toMatchObject(defined(comparable(said[name] as Answers, through(name))))
    }
  }

  test.each(workspaces)('each row of %s is as it was in the file', (name) => {
    const path = join(released.world.directory(`copied-${name}`), 'relay.db')
    cpSync(dirname(released.databasePath(name)), dirname(path), { recursive: true })
    const before = new Database(path)
    const tables = before
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all()
    const columnsOf = (table: unknown) => before.prepare(`SELECT name FROM pragma_table_info('${table}')`).all().join()
    const queries = tables.map(([table]) => `SELECT ${columnsOf(table)} FROM ${table}`)
    const rowsIn = ({ prepare }: { prepare: Database['prepare'] }) => queries.map((sql) => prepare(sql).all())
    const rows = rowsIn({ prepare: (sql) => before.prepare(sql) })
    const [version] = before.prepare('PRAGMA user_version').get() ?? []
    before.close()
    expect(version).toBe(released.said.workspaces[name]?.schema)
    expect(version).toBeLessThan(migrationSteps.length)
    const store = new Store(path)
    const prepare: Database['prepare'] = (sql) => store.database.prepare(sql)
    expect(rowsIn({ prepare })).toEqual(rows)
    // Whom an entry concerns is younger than the first release.
    const concerned = () => prepare('SELECT * FROM concerns ORDER BY who, seq').all()
    const migrated = concerned()
    expect(migrated).not.toEqual([])
    // An earlier pruning has taken out what the rows were made of.
    if (store.pruning.pruneRecords().length === 0) store.rebuild()
    expect(rowsIn({ prepare })).toEqual(rows)
    expect(concerned()).toEqual(migrated)
    store.close()
  })

  test('opened', async () => {
    await released.start()
    await expectAll()
  })

  test('exported and imported', async () => {
    const file = join(released.world.root, 'app.jsonl')
    await released.run('workspace', 'export', '--project', 'app', '--to', file)
    await released.run('workspace', 'import', file, 'imported')
    const spoken = ({ messages }: Answers) =>
      Object.values(messages)
        .flat()
        .filter(({ seq }) => seq <= through('app'))
        .map(({ id, ts, from, to, kind, body, thread, replyTo }) => ({ id, ts, from, to, kind, body, thread, replyTo }))
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const [told, imported] = [spoken(said.app as Answers), await released.ask('imported')]
    const ids = new Set(told.map(({ id }) => id))
    const found = mapValues(imported.messages, (all) => all.filter(({ id }) => ids.has(id)))
    expect(spoken({ ...imported, messages: found })).toEqual(told)
  })

  test('backed up and restored elsewhere', async () => {
    const file = join(released.world.root, 'all.tar')
    await released.run('workspace', 'backup', file, ...workspaces)
    await released.stop()
    const dataDir = join(released.world.root, 'elsewhere')
    mkdirSync(dataDir)
    await released.runAt(dataDir, 'workspace', 'restore', file)
    await released.start(dataDir)
    for (const name of workspaces) {
      const found = await released.ask(name, { dataDir })
      // The rights that a policy grants are not believed of a backup.
      const { policy, ...then } = comparable(said[name] as Answers, through(name))
      expect(comparable(found, through(name))).toMatchObject(defined(then))
    }
    await released.stop()
    await released.start()
  })

  // In the short size the first release stands for all.
  test.runIf(isFull || fixture === ages[0])('shared and taken back', async () => {
    for (const workspace of workspaces) await released.control('workspace.share', { workspace })
    await expectAll()
    for (const workspace of workspaces) await released.control('workspace.unshare', { workspace, force: true })
    await expectAll()
  })

  test('pruned in part', async () => {
    const events = (text: string) => text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
    const eachOf = (all: { seq: number; body?: string }[]) =>
      all
        .filter(({ seq }) => seq <= through('app'))
        .map(({ body, ...each }: { seq: number; body?: string }) => JSON.stringify(each))
    const distinct = (all: string[]) => [...new Set(all)].toSorted()
    const before = await released.ask('app')
    const { archive, messages } = await released.control('workspace.prune', { workspace: 'app', olderMs: 0 })
    expect(messages).toBeGreaterThan(0)
    const archived = join(dirname(released.databasePath('app')), 'archive', archive?.file as string)
    const gone = events(gunzipSync(readFileSync(archived)).toString())
    const left = await released.ask('app')
    // An event that stays is in the archive too if it has lost its body, such as a worker's last screen.
    expect(distinct(eachOf([...left.events, ...gone]))).toEqual(distinct(eachOf(before.events)))
    const goneIds = new Set(gone.map(({ message }) => message?.id))
    const kept = (all: Answers['messages']) =>
      Object.fromEntries(Object.entries(all).map(([name, each]) => [name, each.filter(({ id }) => !goneIds.has(id))]))
    expect(left.messages).toMatchObject(kept(before.messages))
    expect(left.inboxes).toEqual(before.inboxes)
    for (const id of Object.keys(left.receipts)) expect(left.receipts[id]).toEqual(before.receipts[id])
    await released.stop()
    await released.start()
    expect((await released.ask('app')).messages).toEqual(left.messages)
  })
})
