// Unused pages of a database file go back to the disk, in files of this version at once, in older ones when nobody uses them; and a file that somebody
// else cuts is still noticed.

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isWorthRepacking, repackDatabase } from '../../src/daemon/repacking.ts'
import { Database, freeClosedFiles } from '../../src/store/database.ts'
import { readFileHeader } from '../../src/store/file-header.ts'
import { checkIntegrity } from '../../src/store/integrity.ts'
import { migrationSteps } from '../../src/store/migrations.ts'
import { copyDatabase } from '../../src/store/snapshot.ts'
import { Store } from '../../src/store/store.ts'

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-pages-'))
  path = join(directory, 'relay.db')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const [rows, kept] = [900, 'first']

/** Fills a table and empties it again, so that most pages of the file are unused. */
function leaveUnusedPages({ database }: Store): void {
  database.transact(() => {
    database.exec(`INSERT INTO meta VALUES ('keep', '${kept}')`)
    const add = database.prepare('INSERT INTO meta VALUES (?, ?)')
    for (let n = 0; n < rows; n++) add.run(`row ${n}`, 'x'.repeat(1_500))
  })
  database.transact(() => database.exec("DELETE FROM meta WHERE name LIKE 'row %'"))
}

/** A file as versions made it whose files could not shrink. */
function fillOlderFile(): void {
  const database = new Database(path)
  database.exec('PRAGMA auto_vacuum = NONE; CREATE TABLE made (by TEXT); DROP TABLE made')
  const store = new Store(database)
  expect(store.freePages.canShrink).toBe(false)
  leaveUnusedPages(store)
  expect(isWorthRepacking(store.freePages)).toBe(true)
  store.close()
}

const sizeOf = (file: string) => statSync(file).size
const keptIn = (store: Store) => store.database.prepare("SELECT value FROM meta WHERE name = 'keep'").get()

function giveBack(store: Store): void {
  while (store.transact(() => store.releasePages(() => true)));
  store.cutFiles()
}

test('a file that can shrink is opened again without a write', () => {
  new Store(path).close()
  const bytes = () => [path, `${path}-wal`].map((file) => readFileSync(file).toString('base64'))
  const before = bytes()
  const store = new Store(path)
  expect(store.freePages.canShrink).toBe(true)
  expect(bytes().every((each, i) => each === before[i])).toBe(true)
  store.close()
})

test('a file gives its unused pages back a few at a time, and ends as short as a copy', () => {
  const store = new Store(path)
  leaveUnusedPages(store)
  const pages = store.freePages.bytes
  expect(store.transact(() => store.releasePages(() => true))).toBe(true)
  expect(store.freePages.bytes).toBeLessThan(pages)
  expect(store.freePages.bytes).toBeGreaterThan(0)
  giveBack(store)
  expect([store.freePages.bytes, sizeOf(`${path}-wal`)]).toEqual([0, 0])
  copyDatabase(path, join(directory, 'copy.db'))
  expect(sizeOf(path)).toBeLessThanOrEqual(1.2 * sizeOf(join(directory, 'copy.db')))
  leaveRow(store)
  expect(keptIn(store)).toEqual([kept])
  store.close()
  expect(checkIntegrity(path)).toBe('ok')
})

/** A commit, which looks whether the files are still the same. */
function leaveRow(store: Store): void {
  store.transact(() => store.database.exec("INSERT OR REPLACE INTO meta VALUES ('again', '1')"))
}

test('a file that somebody else cuts is noticed while space is given back, and afterwards', () => {
  const store = new Store(path)
  leaveUnusedPages(store)
  store.database.exec('PRAGMA wal_checkpoint(FULL)')
  leaveRow(store)
  store.transact(() => store.releasePages(() => true))
  const whole = sizeOf(path)
  truncateSync(path, 8 * 4_096)
  expect(() => leaveRow(store)).toThrow('was cut')
  truncateSync(path, whole)
  store.close()
})

test('after space was given back a shorter file is one that was cut', () => {
  const store = new Store(path)
  leaveUnusedPages(store)
  giveBack(store)
  truncateSync(path, sizeOf(path) - 4_096)
  expect(() => leaveRow(store)).toThrow('was cut')
  store.close()
})

test('a rollback gives nothing back, and a later try does', () => {
  const store = new Store(path)
  leaveUnusedPages(store)
  const before = store.freePages.bytes
  const failed = () =>
    store.transact(() => {
      store.releasePages(() => false)
      throw new Error('no')
    })
  expect(failed).toThrow('no')
  expect(store.freePages.bytes).toBe(before)
  giveBack(store)
  expect(store.freePages.bytes).toBe(0)
  store.close()
})

/** The last connection puts the log into the file; it ends when its statements were collected. */
async function untilClosed(file: string): Promise<void> {
  const isLogThere = async () => {
    await freeClosedFiles()
    return existsSync(`${file}-wal`)
  }
  await expect.poll(isLogThere).toBe(false)
}

const pagesOf = ({ freePages: { canShrink, bytes, fileBytes } }: Store) => ({ canShrink, bytes, fileBytes })

/** Opens a file, and closes it again. The functions that hold a database must have ended before it counts as closed. */
function lookInto(file: string, change: (store: Store) => void = () => {}) {
  const store = new Store(file)
  change(store)
  const pages = pagesOf(store)
  store.close()
  return { ...pages, version: migrationSteps.length }
}

test('the header of a closed file says what SQLite says of the open one', async () => {
  const young = join(directory, 'young.db')
  const pages = lookInto(young, leaveUnusedPages)
  expect(pages.bytes).toBeGreaterThan(0)
  await untilClosed(young)
  expect(readFileHeader(young)).toEqual(pages)
  fillOlderFile()
  await untilClosed(path)
  const header = readFileHeader(path)
  expect(header).toMatchObject({ canShrink: false })
  expect(lookInto(path)).toEqual(header)
})

test('a file without a header is left to its opening', () => {
  writeFileSync(path, 'SQLite format 3\0')
  expect([path, directory, join(directory, 'missing.db')].map(readFileHeader)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('an older file is rewritten while nobody uses it, and can shrink from then on', async () => {
  fillOlderFile()
  const before = sizeOf(path)
  expect(await repackDatabase(path, () => true)).toBe(true)
  expect(sizeOf(path)).toBeLessThan(before / 4)
  expect(checkIntegrity(path)).toBe('ok')
  const store = new Store(path)
  expect([store.freePages.canShrink, keptIn(store)]).toEqual([true, [kept]])
  store.close()
})

test('an older file stays as it is if somebody opens it meanwhile', async () => {
  fillOlderFile()
  await freeClosedFiles()
  const before = statSync(path)
  let looks = 0
  expect(await repackDatabase(path, () => looks++ < 1)).toBe(false)
  expect(statSync(path).ino).toBe(before.ino)
  // A log is beside the file as long as somebody has it open.
  const store = new Store(path)
  leaveRow(store)
  expect(await repackDatabase(path, () => true)).toBe(false)
  expect([statSync(path).ino, keptIn(store)]).toEqual([before.ino, [kept]])
  store.close()
  expect(readdirSync(directory).filter((name) => name.includes('repacked'))).toEqual([])
})
