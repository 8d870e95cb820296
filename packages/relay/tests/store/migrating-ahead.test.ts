// A large database of the first release is brought to this version in a thread: no row is lost, the event loop goes on, and what has no need of it is left alone.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Database } from '../../src/store/database.ts'
import { migrateAhead } from '../../src/store/migrating-ahead.ts'
import { migrationSteps } from '../../src/store/migrations.ts'
import { Store } from '../../src/store/store.ts'

const released = readFileSync(new URL('released-0.1.0.sql', import.meta.url), 'utf8')
const entries = 300
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'relay-ahead-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function makeReleased(name: string, bytesEach: number): string {
  const path = join(folder, name)
  const database = new Database(path)
  database.exec(released)
  const insert = database.prepare(
    "INSERT INTO journal (seq, at, by, cause, rule, facts, outcome) VALUES (?, 1, 'ada', 'more ' || ?, 'x', '[]', ?)",
  )
  database.transact(() => {
    for (let seq = 1; seq <= entries; seq++) insert.run(10_000 + seq, `${seq}`, `{"text":"${'x'.repeat(bytesEach)}"}`)
  })
  database.close()
  return path
}

function read(path: string, sql: string): unknown {
  const database = new Database(path)
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}
const versionIn = (path: string) => read(path, 'PRAGMA user_version')

test('two large files at once, while the event loop goes on; a store then finds the same rows as in one that it migrated itself', async () => {
  const paths = [makeReleased('one.db', 40_000), makeReleased('two.db', 40_000)]
  const own = makeReleased('own.db', 40_000)
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  await Promise.all(paths.map(migrateAhead))
  clearInterval(counting)
  expect(turns).toBeGreaterThan(1)
  new Store(own).database.close()
  for (const path of paths) {
    expect(versionIn(path)).toEqual([[migrationSteps.length]])
    const store = new Store(path)
    expect(store.journal.lastSeq).toBe(10_000 + entries)
    for (const table of ['journal', 'messages', 'agents', 'members', 'concerns', 'workers'])
      expect(store.database.prepare(`SELECT * FROM ${table}`).all()).toEqual(read(own, `SELECT * FROM ${table}`))
    store.close()
  }
})

test('a small file, a missing one, and one of this or a newer version are left as they are', async () => {
  const small = makeReleased('small.db', 10)
  const newer = makeReleased('newer.db', 40_000)
  read(newer, 'PRAGMA user_version = 9999')
  const [smallVersion, newerBytes] = [versionIn(small), readFileSync(newer)]
  for (const path of [small, newer, join(folder, 'missing.db'), folder]) await migrateAhead(path)
  expect(versionIn(small)).toEqual(smallVersion)
  expect(readFileSync(newer).equals(newerBytes)).toBe(true)
  expect(statSync(join(folder, 'missing.db'), { throwIfNoEntry: false })).toBeUndefined()
})

test('a damaged file is refused as when it is opened, and the next file is migrated all the same', async () => {
  const damaged = join(folder, 'damaged.db')
  writeFileSync(damaged, readFileSync(makeReleased('whole.db', 40_000)).fill(7, 4_096, 60_000))
  const next = makeReleased('next.db', 40_000)
  const [refused] = await Promise.allSettled([migrateAhead(damaged), migrateAhead(next)])
  expect(refused).toMatchObject({ status: 'rejected', reason: { refusal: { code: 'workspace.damaged' } } })
  expect(versionIn(next)).toEqual([[migrationSteps.length]])
})
