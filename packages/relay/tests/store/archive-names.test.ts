// The names of archive files in a database that may come from anybody, such as a restored one: none leads to a file outside the archive.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readArchiveRecords } from '../../src/store/contents.ts'
import { Store } from '../../src/store/store.ts'

const own = '2026-11-19T10-00-00.000Z.jsonl.gz'
const planted = [
  '../../../secret',
  '../x.jsonl.gz',
  'a/b.jsonl.gz',
  '/etc/passwd',
  '.jsonl.gz',
  'x.jsonl.gz\nrun this',
  '',
]

test('only names that we give to such files are read, backed up or shown', () => {
  const directory = mkdtempSync(join(tmpdir(), 'relay-archive-names-'))
  const path = join(directory, 'relay.db')
  const store = new Store(path)
  const add = store.database.prepare('INSERT INTO prunes VALUES (?, 1, ?, 1, ?, 10, 1, 1)')
  ;[...planted, own].forEach((file, i) => void add.run(i + 1, i, file))
  expect(store.pruning.pruneRecords().map(({ file }) => file)).toEqual([...planted.map(() => undefined), own])
  store.close()
  expect(readArchiveRecords(path)).toEqual([{ file: own, bytes: 10 }])
  rmSync(directory, { recursive: true })
})
