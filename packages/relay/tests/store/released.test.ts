// A workspace that a released version has written: it opens, nothing of it is lost, and it goes on.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runAllSteps } from '../../src/core/steps.ts'
import { readDatabaseContents } from '../../src/store/contents.ts'
import { Database } from '../../src/store/database.ts'
import { derivedTables } from '../../src/store/migrations.ts'
import { copyDatabase } from '../../src/store/snapshot.ts'
import { Store } from '../../src/store/store.ts'

const releases = ['0.1.0']
let made = 0

/** A database that a second connection can open: the released tables are made by the first. */
function opened(release: string): Store {
  const path = `file:/released-${process.pid}-${made++}?vfs=memdb`
  const database = new Database(path)
  database.exec(readFileSync(new URL(`released-${release}.sql`, import.meta.url), 'utf8'))
  const store = new Store(path)
  database.close()
  return store
}

const tables = [...derivedTables, 'journal', 'messages', 'bodies', 'payloads']
const rowsOf = ({ database }: Store) =>
  Object.fromEntries(tables.map((table) => [table, database.prepare(`SELECT * FROM ${table}`).all()]))

test.each(releases)('a workspace of %s has all its rows, and the same when they are made again', (release) => {
  const store = opened(release)
  const { view, queries } = store
  expect([...view.agents()].map(({ name }) => name)).toEqual(expect.arrayContaining(['ada', 'bob', 'cy', 'fixer']))
  expect(runAllSteps(queries.messageCount(store.journal.lastSeq))).toBe(4)
  expect(runAllSteps(queries.peek('cy', {})).messages.map(({ body }) => body)).toContain('to two')
  expect(view.workers.running().map(({ name, machine }) => [name, machine])).toEqual([['helper', undefined]])
  expect(view.runs.running().map(({ harness, machine }) => [harness, machine])).toEqual([
    ['loop', undefined],
    ['external', undefined],
  ])
  expect([...view.actions.all(), ...view.actions.running()].map(({ machine }) => machine)).toEqual([
    undefined,
    undefined,
  ])
  const before = rowsOf(store)
  store.rebuild()
  expect(rowsOf(store)).toEqual(before)
  store.close()
})

test.each(releases)('a copy of %s, made before it is brought up to date, has the same rows', (release) => {
  const folder = mkdtempSync(join(tmpdir(), 'released-'))
  const [path, copy] = [join(folder, 'relay.db'), join(folder, 'copy.db')]
  const database = new Database(path)
  database.exec(readFileSync(new URL(`released-${release}.sql`, import.meta.url), 'utf8'))
  database.close()
  copyDatabase(path, copy)
  expect(readDatabaseContents(copy)).toEqual({ ...readDatabaseContents(path), messages: 4 })
  const [store, copied] = [new Store(path), new Store(copy)]
  expect(rowsOf(copied)).toEqual(rowsOf(store))
  store.close()
  copied.close()
  rmSync(folder, { recursive: true })
})

test.each(releases)('the journal of %s tells a follower everything', (release) => {
  const store = opened(release)
  const copy = new Store(':memory:')
  const entries = store.journal.entriesAfter(0, 1_000)
  copy.transact(() => copy.apply(entries.map((entry) => ({ ...entry, payload: store.journal.payload(entry.seq) }))))
  expect(rowsOf(copy)).toEqual(rowsOf(store))
  store.close()
})
