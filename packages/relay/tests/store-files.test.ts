// A workspace's file: made from nothing, refused when it is newer or damaged, and never harmed by the refusal.

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
import { RefusalError } from '../src/refusal-error.ts'
import { mendOf } from '../src/store/damage.ts'
import { Database } from '../src/store/database.ts'
import { derivedTables } from '../src/store/migrations.ts'
import { Store } from '../src/store/store.ts'

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
    store.append(
      {
        ...entry('1'),
        facts: [
          { type: 'channel.created', channel: '#general' },
          { type: 'agent.registered', id: 'a', agent: { name: 'ada', type: 'agent' } },
          joined,
        ],
      },
      'agent.register',
      {},
      undefined,
    )
    for (let n = 1; n <= 400; n++) {
      const created = {
        type: 'message.created',
        id: `m${n}`,
        conversation: '#general',
        n,
        from: 'eve',
        kind: 'free',
      } as const
      store.append(
        { ...entry(`m${n}`), facts: [created] },
        'message.send',
        {},
        { body: `body ${n} ${'x'.repeat(200)}` },
      )
    }
  })
  store.database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  store.close()
  copyFileSync(origin, path)
}

test('from nothing: tables, settings and a sound file', () => {
  const store = new Store(path)
  const tables = store.database
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .flat()
  expect(tables).toEqual([...derivedTables, 'journal', 'messages', 'bodies', 'payloads'].sort())
  const setting = (name: string) => store.database.prepare(`PRAGMA ${name}`).get()?.[0]
  expect(setting('journal_mode')).toBe('wal')
  expect(setting('synchronous')).toBe(2)
  expect(setting('user_version')).toBeGreaterThan(0)
  expect(store.isSound()).toBe(true)
  expect(store.journal.lastSeq).toBe(0)
  store.close()
})

test('opened again, nothing is migrated and nothing is lost', () => {
  filled()
  const store = new Store(path)
  expect(store.queries.messageCount()).toBe(400)
  expect([...store.view.unread('ada', {})]).toHaveLength(400)
  store.close()
})

test('a newer schema is refused with words that say the mend, and left as it is', () => {
  filled()
  const database = new Database(path)
  const known = Number(database.prepare('PRAGMA user_version').get()?.[0])
  database.exec('PRAGMA user_version = 99')
  database.close()
  const before = readFileSync(path)
  const { refusal } = refusalOf(() => new Store(path))
  expect(refusal.code).toBe('workspace.newer')
  expect(refusal.message).toBe(
    `${path} was written by a newer Agent Relay (schema 99, this one knows ${known}). Update this one.`,
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
    expect(refusal.message).toMatch(
      /It was left as it is\. To move it away and start afresh: agent-relay daemon stop; /,
    )
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(readdirSync(directory).filter((name) => !/^relay\.db(\.origin)?(-wal|-shm)?$/.test(name))).toEqual([])
  })
})

test('an empty file is a new workspace', () => {
  writeFileSync(path, '')
  const store = new Store(path)
  expect(store.journal.lastSeq).toBe(0)
  store.close()
})

test('a database that finds no room says so, whichever it is', () => {
  const database = new Database(path)
  database.exec('CREATE TABLE t (x TEXT)')
  database.exec('PRAGMA max_page_count = 3')
  const add = database.prepare('INSERT INTO t VALUES (?)')
  expect(() => add.run('x'.repeat(100_000))).toThrow(new RefusalError('store.full'))
  database.close()
})

test('the mend is quoted where a shell would take it for more than it is', () => {
  expect(mendOf("/home/o'neil my/projects/app/relay.db")).toBe(
    "agent-relay daemon stop; mkdir -p '/home/o'\\''neil my/projects/app/damaged'; " +
      "mv '/home/o'\\''neil my/projects/app/relay.db'* '/home/o'\\''neil my/projects/app/damaged'; " +
      'agent-relay daemon start --project app',
  )
})
