// A workspace's file: made from nothing, refused when it is newer or damaged, and never harmed by the refusal.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
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
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RefusalError } from '../../src/core/refusal-error.ts'
import { runAllSteps } from '../../src/core/steps.ts'
import { missingDatabaseText, repairCommands } from '../../src/store/damage.ts'
import { Database } from '../../src/store/database.ts'
import { checkIntegrity } from '../../src/store/integrity.ts'
import { migrate } from '../../src/store/migrating.ts'
import { derivedTables } from '../../src/store/migrations.ts'
import { Store } from '../../src/store/store.ts'

let directory: string
let path: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-store-'))
  path = join(directory, 'relay.db')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function refusalOf(work: () => unknown): RefusalError {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(RefusalError)
    return error as RefusalError
  }
  throw new Error('was not refused')
}

/** A workspace with something in it. A copy of its file alone: a connection of this process lives on until it is collected. */
function filled(): void {
  const origin = join(directory, 'relay.db.origin')
  const store = new Store(origin)
  store.transact(() => {
    const entry = (cause: string) => ({ at: 1, by: 'ada', cause })
    const joined = { type: 'channel.joined', channel: '#general', agent: 'ada', n: 0 } as const
    store.append({
      ...entry('1'),
      facts: [
        { type: 'channel.created', channel: '#general' },
        { type: 'agent.registered', id: 'a', agent: { name: 'ada', type: 'agent' } },
        joined,
      ],
      rule: 'agent.register',
      outcome: {},
    })
    for (let n = 1; n <= 400; n++) {
      const created = {
        type: 'message.created',
        id: `m${n}`,
        conversation: '#general',
        n,
        from: 'eve',
        kind: 'free',
      } as const
      const body = `body ${n} ${'x'.repeat(200)}`
      store.append({ ...entry(`m${n}`), facts: [created], rule: 'message.send', outcome: {}, body })
    }
  })
  store.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  store.close()
  copyFileSync(origin, path)
}

test('a new database has its tables and settings and is sound', () => {
  const store = new Store(path)
  const tables = store.database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .flat()
  expect(tables).toEqual(
    [
      ...derivedTables,
      'journal',
      'messages',
      'bodies',
      'payloads',
      'origins',
      'outbox',
      'local_journal',
      'prunes',
      'awaited_receipts',
    ].sort(),
  )
  const setting = (name: string) => store.database.prepare(`PRAGMA ${name}`).get()?.[0]
  expect(setting('journal_mode')).toBe('wal')
  expect(setting('synchronous')).toBe(2)
  expect(setting('user_version')).toBeGreaterThan(0)
  expect(store.isSound()).toBe(true)
  expect(store.journal.lastSeq).toBe(0)
  store.close()
})

test('a new database gets all its tables in one commit, since each waits for the disk', () => {
  const database = new Database(path)
  database.exec('PRAGMA journal_mode = WAL')
  migrate(database)
  const log = readFileSync(`${path}-wal`)
  database.close()
  // The log of SQLite: a head, then pages, each behind a head of its own, which says at the last page of a commit how large the file is by now.
  const [logHead, pageHead, page] = [32, 24, 4096]
  const sizes: number[] = []
  for (let at = logHead; at < log.length; at += pageHead + page) sizes.push(log.readUInt32BE(at + 4))
  expect(sizes.filter((size) => size > 0)).toEqual([sizes.at(-1)])
  expect(sizes.at(-1)).toBeGreaterThan(0)
})

test('opened again, nothing is migrated and nothing is lost', () => {
  filled()
  const store = new Store(path)
  expect(runAllSteps(store.queries.messageCount(store.journal.lastSeq))).toBe(400)
  expect([...store.view.inbox.unread('ada', {})].filter(Boolean)).toHaveLength(400)
  store.close()
})

test('a database of a newer version is refused with the fix and left as it is', () => {
  filled()
  const database = new Database(path)
  const known = Number(database.prepare('PRAGMA user_version').get()?.[0])
  database.exec('PRAGMA user_version = 99')
  database.close()
  const before = readFileSync(path)
  const { refusal } = refusalOf(() => new Store(path))
  expect(refusal.code).toBe('workspace.newer')
  expect(refusal.message).toBe(
    `${path} was written by a newer Agent Relay (schema 99, this one knows ${known}). To use it, install that version and run: agent-relay daemon upgrade`,
  )
  expect(readFileSync(path).equals(before)).toBe(true)
})

describe('a damaged file is refused by name, and stays byte for byte as it is', () => {
  const damages: Record<string, () => void> = {
    'is a text': () => writeFileSync(path, 'not a database, but somebody’s notes\n'.repeat(100)),
    'has a broken head': () => overwrite(0, 16),
    'has a broken first page': () => overwrite(100, 3_000),
    'was cut in the middle': () => truncateSync(path, Math.floor(statSync(path).size / 8192) * 4096),
    'has broken pages of agents and journal': () => overwrite(4096, statSync(path).size - 4096),
  }
  const overwrite = (from: number, bytes: number) => {
    const content = readFileSync(path)
    content.fill(0xa5, from, from + bytes)
    writeFileSync(path, content)
  }

  test.each(Object.keys(damages))('a file that %s', (damage) => {
    filled()
    damages[damage]?.()
    const before = readFileSync(path)
    const { refusal } = refusalOf(() => new Store(path))
    expect(refusal.code).toBe('workspace.damaged')
    expect(refusal.message).toContain(path)
    expect(refusal.message).toMatch(/It was left as it is\.\nTo go on with a copy of it: agent-relay daemon stop; /)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(directory).filter((name) => !/^relay\.db(\.origin)?(-wal|-shm|\.end)?$/.test(name))).toEqual([])
  })
})

test('an empty file is a new workspace', () => {
  writeFileSync(path, '')
  const store = new Store(path)
  expect(store.journal.lastSeq).toBe(0)
  store.close()
})

test('a database on a full disk says so, whichever it is', () => {
  const database = new Database(path)
  database.exec('CREATE TABLE t (x TEXT)')
  database.exec('PRAGMA max_page_count = 3')
  const add = database.prepare('INSERT INTO t VALUES (?)')
  expect(() => add.run('x'.repeat(100_000))).toThrow(new RefusalError('store.full'))
  database.close()
})

test('the fixes are quoted where a shell would take them for more than they are', () => {
  const { copy, startOver } = repairCommands("/home/o'neil my/projects/app/relay.db")
  const folder = "'/home/o'\\''neil my/projects/app'"
  const path = "'/home/o'\\''neil my/projects/app/relay.db'"
  const away = "'/home/o'\\''neil my/damaged/app'"
  expect(copy).toBe(
    `agent-relay daemon stop; mkdir -p ${folder} ${away}; mv ${path}* ${away}; cp COPY ${path}; ` +
      'agent-relay daemon start --project app',
  )
  expect(startOver).toBe(
    `mkdir -p ${folder} ${away}; cp -p ${path}* ${away}; agent-relay daemon restart; ` +
      'agent-relay workspace remove app --yes --force; agent-relay daemon start --project app',
  )
})

describe('a version number that does not fit the tables counts as damage', () => {
  test.each([0, -3, 2])('version %i', (version) => {
    filled()
    const database = new Database(path)
    database.exec(`PRAGMA user_version = ${version}`)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    database.close()
    const before = readFileSync(path)
    const { refusal } = refusalOf(() => new Store(path))
    expect(refusal).toMatchObject({ code: 'workspace.damaged', details: { path } })
    expect(refusal.message).toContain(`schema version is ${version}`)
    expect(checkIntegrity(path)).toMatch(version > 0 ? /^ok$/ : /schema version/)
    expect(readFileSync(path).equals(before)).toBe(true)
  })
})

test('an empty database beside a log counts as lost; an empty one that nobody knows does not', () => {
  filled()
  expect(missingDatabaseText(path, true)).toBeUndefined()
  writeFileSync(`${path}-wal`, 'x'.repeat(5_000))
  truncateSync(path, 0)
  expect(missingDatabaseText(path, false)).toBe(
    `${path} has 0 bytes, although 5000 bytes of its log lie beside it in relay.db-wal`,
  )
  rmSync(path)
  expect(missingDatabaseText(path, false)).toMatch(/is missing, although 5000 bytes/)
  rmSync(`${path}-wal`)
  expect([missingDatabaseText(path, false), missingDatabaseText(path, true)]).toEqual([undefined, `${path} is missing`])
})

const builtDriver = new URL('../../dist/store/database.js', import.meta.url).href
const looker = `
  const { Database } = await import(process.argv[1])
  const database = new Database(process.argv[2])
  database.exec('PRAGMA journal_mode = WAL')
  database.exec('PRAGMA locking_mode = EXCLUSIVE')
  database.exec('BEGIN EXCLUSIVE')
  console.log('mine')
  // The asker blocks from now on: only this process can free the file.
  setTimeout(() => database.close(), 100)
`

test('a file that another process has for a moment is waited for', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', looker, builtDriver, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  await Promise.race([once(child.stdout, 'data'), ended.then(() => expect.unreachable('it did not get the file'))])
  new Store(path).close()
  expect(await ended).toEqual([0, null])
})
