// The search index is only an index: deleted, damaged or ahead of its workspace, it is made again from the messages.

import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Database, type Statement } from '../../src/store/database.ts'
import { SearchIndex } from '../../src/store/search.ts'
import { conversationMark, queryWithMarks, searchQueriesOf, senderMark } from '../../src/store/search-query.ts'
import { CoreWorld } from '../core/core-world.ts'

let directory: string
let path: string
let world: CoreWorld
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-search-'))
  path = join(directory, 'search.db')
  world = new CoreWorld().cast('ada', 'bob')
  for (let i = 1; i <= 200; i++)
    world.send('ada', 'bob', { body: `message ${i} about owls${i % 2 ? ' and mice' : ''}` })
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function open(): SearchIndex {
  return new SearchIndex(world.store.database, path, () => world.store.journal.lastSeq)
}

function fill(index: SearchIndex): number {
  let slices = 0
  for (let part = index.newestUnfilledPart; part !== undefined; part = index.newestUnfilledPart)
    while (index.fillPart(part)) slices++
  return slices
}

function noteAll(index: SearchIndex): void {
  for (let part = index.newestUnnotedPart; part !== undefined; part = index.newestUnnotedPart) index.noteWords(part)
}

function sayAll(bodies: string[]): CoreWorld {
  const own = new CoreWorld().cast('ada', 'bob')
  for (const body of bodies) own.send('ada', 'bob', { body })
  return own
}

/** A full index, as a file of its own: a connection of this process lives on until it is collected. */
function filled(): string {
  const origin = join(directory, 'origin.db')
  const index = new SearchIndex(world.store.database, origin, () => world.store.journal.lastSeq)
  fill(index)
  index.close()
  const database = new Database(origin)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  copyFileSync(origin, path)
  return origin
}

function count(index: SearchIndex, text: string): number {
  for (;;) {
    const found = allOf(index, text)
    if (found) return found.length
    // Found damaged, and thrown away.
    fill(index)
  }
}

function allOf(index: SearchIndex, text: string): number[] | undefined {
  const [question] = searchQueriesOf(text) as [string]
  const found: number[] = []
  for (let part = index.partOf(world.store.journal.lastSeq); part >= 0; part--) {
    const rows = index.findInPart(part, queryWithMarks(question, [], []))
    if (rows === undefined) return undefined
    found.push(...rows)
  }
  return found
}

test('a first slice that failed, as on a full disk, is searched and filled later', () => {
  const { database } = world.store
  let isFailing = true
  /** Fails where a body is read: in the middle of the slice. */
  const prepare = (sql: string): Statement => {
    const statement = database.prepare(sql)
    const get = (...values: Parameters<Statement['get']>) => {
      if (isFailing) throw new Error('the disk said no')
      return statement.get(...values)
    }
    return { all: (...values) => statement.all(...values), run: (...values) => statement.run(...values), get }
  }
  const index = new SearchIndex({ prepare } as Database, path, () => world.store.journal.lastSeq)
  expect(() => index.fillPart(0)).toThrow('the disk said no')
  expect(allOf(index, 'owls')).toEqual([])
  isFailing = false
  fill(index)
  expect(count(index, 'owls')).toBe(200)
  index.close()
})

test('the index is filled in slices and continues where it stopped', () => {
  const index = open()
  expect(index.fillPart(0)).toBe(true)
  index.close()
  const again = open()
  expect(fill(again)).toBe(Math.ceil(200 / 32) - 1)
  expect(count(again, 'owls')).toBe(200)
  expect(count(again, 'mice')).toBe(100)
  expect(count(again, '"owls and"')).toBe(100)
  again.close()
})

test('results come newest first and can be filtered by sender and conversation', () => {
  world.cast('cy').send('cy', '#general', { body: 'owls for all' })
  const index = open()
  fill(index)
  const found = allOf(index, 'owls') as number[]
  expect(found).toHaveLength(201)
  expect(found).toEqual([...found].sort((a, b) => b - a))
  const newest = world.store.journal.lastSeq
  expect(index.findInPart(0, queryWithMarks('"owls"', [senderMark('cy')], []))).toEqual([newest])
  const general = world.store.view.conversationKey('#general') as number
  expect(
    index.findInPart(0, queryWithMarks('"owls"', [], [conversationMark(general), conversationMark(9_999)])),
  ).toEqual([newest])
  expect(index.findInPart(0, queryWithMarks('"owls"', [senderMark('ada')], [conversationMark(general)]))).toEqual([])
  index.close()
})

test('marks in the index are not words: a search cannot find names or keys in them', () => {
  world.send('ada', 'bob', { body: 'plain' })
  const index = open()
  fill(index)
  for (const mark of [senderMark('ada'), conversationMark(1), 'c1', 'marks', 'marks:c1', 's*', 'c*'])
    for (const question of searchQueriesOf(mark))
      expect(index.findInPart(0, queryWithMarks(question, [], []))).toEqual([])
  index.close()
})

test('a part is passed over only if no message in it has all the words', () => {
  const letters = fc.constantFrom(
    ...'abcdeéß',
    'e\u0301',
    'ǅ',
    'И',
    '語',
    '\u0301',
    '𞤀',
    '-',
    '.',
    '_',
    '7',
    '٣',
    '²',
    "'",
    '€',
  )
  const word = fc.string({ unit: letters, minLength: 1, maxLength: 6 })
  const body = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(' '))
  const asked = fc.array(
    fc.oneof(
      word,
      word.map((each) => `${each}*`),
      body.map((each) => `"${each}"`),
    ),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  let round = 0
  const passedOver: number[] = []
  fc.assert(
    fc.property(
      fc.array(body, { minLength: 40, maxLength: 40 }),
      fc.array(asked, { minLength: 5, maxLength: 5 }),
      (bodies, asks) => {
        const { store } = sayAll(bodies)
        const index = new SearchIndex(store.database, join(directory, `${round++}.db`), () => store.journal.lastSeq, 8)
        fill(index)
        noteAll(index)
        for (const words of asks) {
          const text = words.join(' ')
          const mayHold = index.partFilter(text, [senderMark('ada')])
          for (let part = 0; part <= index.partOf(store.journal.lastSeq); part++) {
            if (mayHold(part)) continue
            passedOver.push(part)
            const found = searchQueriesOf(text).map(
              (each) => index.findInPart(part, queryWithMarks(each, [], [])) ?? [],
            )
            expect(found.reduce((all, each) => all.filter((seq) => each.includes(seq)))).toEqual([])
          }
        }
        index.close()
      },
    ),
    { numRuns: 30 },
  )
  expect(passedOver.length).toBeGreaterThan(0)
})

test('the star of a beginning is not taken from the word that the index gives it to', () => {
  const index = new SearchIndex(sayAll(['語a', ...Array(20).fill('b')]).store.database, path, () => 30, 8)
  fill(index)
  noteAll(index)
  expect(index.partFilter('語-\u0301*', [])(0)).toBe(true)
  index.close()
})

test('a part whose words are not all noted is searched; one that is emptied is forgotten', () => {
  const index = new SearchIndex(world.store.database, path, () => world.store.journal.lastSeq, 16)
  fill(index)
  expect(index.partFilter('nowhere', [])(0)).toBe(true)
  noteAll(index)
  expect(index.newestUnnotedPart).toBeUndefined()
  const mayHold = () => index.partFilter('"message 1"', [])
  expect([mayHold()(0), index.partFilter('nowhere', [])(0)]).toEqual([true, false])
  index.emptyPart(0)
  expect(index.partFilter('nowhere', [])(0)).toBe(true)
  fill(index)
  noteAll(index)
  expect([mayHold()(0), index.partFilter('nowhere', [])(0)]).toEqual([true, false])
  index.close()
  const again = new SearchIndex(world.store.database, path, () => world.store.journal.lastSeq, 16)
  expect(again.partFilter('nowhere', [])(0)).toBe(false)
  again.close()
})

test('an index of another shape is made again', () => {
  const old = new Database(path)
  old.exec("CREATE VIRTUAL TABLE bodies USING fts5(body, content='')")
  old.exec('CREATE TABLE progress (one INTEGER PRIMARY KEY, seq INTEGER NOT NULL) STRICT')
  old.exec('INSERT INTO progress VALUES (1, 7)')
  old.close()
  const index = open()
  fill(index)
  expect(count(index, 'owls')).toBe(200)
  index.close()
})

describe('made again', () => {
  const harms: Record<string, () => void> = {
    deleted: () => {
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    },
    'a text': () => writeFileSync(path, 'no database at all\n'.repeat(500)),
    'broken at its head': () => overwrite(0, 100),
    'broken in its pages': () => overwrite(4096, readFileSync(path).length - 4096),
  }
  const overwrite = (from: number, bytes: number) => {
    const content = readFileSync(path)
    content.fill(0xa5, from, from + bytes)
    writeFileSync(path, content)
  }

  test.each(Object.keys(harms))('an index that is %s', (harm) => {
    filled()
    harms[harm]?.()
    const repaired = open()
    fill(repaired)
    expect(count(repaired, 'owls')).toBe(200)
    world.send('ada', 'bob', { body: 'one more about owls' })
    fill(repaired)
    expect(count(repaired, 'owls')).toBe(201)
    repaired.close()
    expect(existsSync(path)).toBe(true)
  })

  test('an index whose log outlived it', () => {
    const origin = filled()
    world.send('ada', 'bob', { body: 'one more about owls' })
    const index = new SearchIndex(world.store.database, origin, () => world.store.journal.lastSeq)
    fill(index)
    copyFileSync(origin, path)
    copyFileSync(`${origin}-wal`, `${path}-wal`)
    index.close()
    overwrite(0, 100)
    const repaired = open()
    fill(repaired)
    expect(count(repaired, 'owls')).toBe(201)
    repaired.close()
  })

  test('an index that breaks while it is open', () => {
    filled()
    const broken = open()
    overwrite(4096, readFileSync(path).length - 4096)
    expect(count(broken, 'owls')).toBe(200)
    broken.close()
  })

  test('an index that is ahead of its workspace, which was put back to an earlier day', () => {
    const index = open()
    fill(index)
    index.close()
    world = new CoreWorld().cast('ada', 'bob')
    world.send('ada', 'bob', { body: 'owls of old' })
    const other = open()
    fill(other)
    expect(count(other, 'owls')).toBe(1)
    expect(count(other, 'mice')).toBe(0)
    other.close()
  })
})
