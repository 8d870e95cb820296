// The search index is only an index: deleted, damaged or ahead of its workspace, it is made again from the messages.

import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Database } from '../src/store/database.ts'
import { SearchIndex } from '../src/store/search.ts'
import { CoreWorld } from './core-world.ts'

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
  return new SearchIndex(world.store.database, path, world.store.journal.lastSeq)
}

function fill(index: SearchIndex): number {
  let slices = 0
  while (index.advance()) slices++
  return slices
}

/** A full index, as a file of its own: a connection of this process lives on until it is collected. */
function filled(): string {
  const origin = join(directory, 'origin.db')
  const index = new SearchIndex(world.store.database, origin, world.store.journal.lastSeq)
  fill(index)
  index.close()
  const database = new Database(origin)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  copyFileSync(origin, path)
  return origin
}

function count(index: SearchIndex, text: string): number {
  return index.find(text, Number.MAX_SAFE_INTEGER, 1_000).length
}

test('filled in slices, and goes on where it stopped', () => {
  const index = open()
  expect(index.advance()).toBe(true)
  index.close()
  const again = open()
  expect(fill(again)).toBe(Math.ceil(200 / 32) - 1)
  expect(count(again, 'owls')).toBe(200)
  expect(count(again, 'mice')).toBe(100)
  expect(count(again, '"owls and"')).toBe(100)
  again.close()
})

test('newest first, below a number, up to a limit', () => {
  const index = open()
  fill(index)
  const [newest, next] = index.find('owls', Number.MAX_SAFE_INTEGER, 2) as [number, number]
  expect(newest).toBe(world.store.journal.lastSeq)
  expect(index.find('owls', newest, 1)).toEqual([next])
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
    const mended = open()
    fill(mended)
    expect(count(mended, 'owls')).toBe(200)
    world.send('ada', 'bob', { body: 'one more about owls' })
    fill(mended)
    expect(count(mended, 'owls')).toBe(201)
    mended.close()
    expect(existsSync(path)).toBe(true)
  })

  test('an index whose log outlived it', () => {
    const origin = filled()
    world.send('ada', 'bob', { body: 'one more about owls' })
    const index = new SearchIndex(world.store.database, origin, world.store.journal.lastSeq)
    fill(index)
    copyFileSync(origin, path)
    copyFileSync(`${origin}-wal`, `${path}-wal`)
    index.close()
    overwrite(0, 100)
    const mended = open()
    fill(mended)
    expect(count(mended, 'owls')).toBe(201)
    mended.close()
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
