// The end file: when it is written, and the findings of a look at a database and its end file.

import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkJournalEnd, journalEndPath, readEndFile } from '../../src/store/journal-end.ts'
import { Store } from '../../src/store/store.ts'

let directory: string
let path: string
let open: Store[] = []
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'relay-end-'))
  path = join(directory, 'relay.db')
})
afterEach(() => {
  for (const store of open) store.close()
  open = []
  rmSync(directory, { recursive: true, force: true })
})

function opened(at = path, machine?: string): Store {
  const store = new Store(at, [], machine)
  open.push(store)
  return store
}

function begun(id = 'w_app', at = path): Store {
  const store = opened(at)
  store.transact(() => {
    const facts = [{ type: 'workspace.began', id, keyHash: 'h' } as const]
    store.append({ at: 1_000, by: 'relay', cause: 'begin', facts, rule: 'workspace.begin', outcome: {} })
  })
  return store
}

/** Each in a commit of its own. */
function say(store: Store, ...causes: string[]): void {
  for (const cause of causes) store.transact(() => void store.append(draft(cause)))
}

const draft = (cause: string) => ({
  ...{ at: 1_000 + Number(cause.replace(/\D/g, '')), by: 'ada', cause, facts: [], rule: 'message.send', outcome: {} },
})

/** The files as a kill would leave them. */
function copied(name: string): string {
  const to = join(directory, name)
  for (const end of ['', '-wal', '.end']) if (existsSync(path + end)) copyFileSync(path + end, to + end)
  return to
}

const slot = 512
const turns = () => {
  const text = readFileSync(journalEndPath(path), 'latin1')
  return [0, slot].map((from) => Number(/^\[1,(\d+),/.exec(text.slice(from))?.[1] ?? 0))
}

test('the end file follows every commit that adds an entry: one write for a commit, none for a commit that adds nothing', () => {
  const store = begun()
  say(store, 'm1', 'm2')
  const end = readEndFile(path)
  expect(end).toMatchObject({ workspace: 'w_app', journal: { seq: 3, at: 1_002 }, local: { seq: 0 } })
  const before = Math.max(...turns())
  store.transact(() => {
    for (let n = 3; n <= 40; n++) store.append(draft(`m${n}`))
  })
  expect(readEndFile(path)?.journal.seq).toBe(41)
  expect(Math.max(...turns())).toBe(before + 1)
  store.transact(() => {})
  expect(() =>
    store.transact(() => {
      store.append(draft('m99'))
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  expect(Math.max(...turns())).toBe(before + 1)
  expect(checkJournalEnd(path)).toMatchObject({ workspace: 'w_app', gap: undefined })
})

test('a workspace of before there were end files begins with one when it is opened', () => {
  const store = begun()
  say(store, 'm1')
  const old = copied('old.db')
  rmSync(journalEndPath(old))
  expect(checkJournalEnd(old)).toEqual({ workspace: 'w_app', expected: undefined, gap: undefined })
  opened(old)
  expect(readEndFile(old)).toEqual(readEndFile(path))
})

test('an older end is no gap: the process was killed before it was written, or a power cut took its last writes', () => {
  const store = begun()
  say(store, 'm1')
  const file = readFileSync(journalEndPath(path))
  say(store, 'm2', 'm3')
  const found = copied('found.db')
  writeFileSync(journalEndPath(found), file)
  expect(checkJournalEnd(found)).toMatchObject({ expected: { journal: { seq: 2 } }, gap: undefined })
})

describe('a torn end file', () => {
  const tear = (file: string, from: number, bytes: number) => {
    const content = readFileSync(file)
    writeFileSync(file, content.fill(0, from, from + bytes))
  }

  test.each([0, slot])('one record is torn, at byte %i: the other one counts', (from) => {
    say(begun(), 'm1', 'm2')
    const found = copied('found.db')
    tear(journalEndPath(found), from + 20, 60)
    expect(readEndFile(found)?.journal.seq).toBeGreaterThanOrEqual(2)
    expect(checkJournalEnd(found).gap).toBeUndefined()
  })

  test.each(['is empty', 'is full of zeros', 'has two torn records', 'is a text'])(
    'an end file that %s counts as none',
    (how) => {
      say(begun(), 'm1', 'm2')
      const found = copied('found.db')
      const file = journalEndPath(found)
      if (how === 'is empty') truncateSync(file)
      if (how === 'is full of zeros') writeFileSync(file, Buffer.alloc(2 * slot))
      if (how === 'has two torn records') for (const from of [0, slot]) tear(file, from + 50, 10)
      if (how === 'is a text') writeFileSync(file, 'somebody’s\tnotes\n'.repeat(100))
      expect(readEndFile(found)).toBeUndefined()
      expect(checkJournalEnd(found).gap).toBeUndefined()
      opened(found)
      expect(readEndFile(found)?.journal.seq).toBe(3)
    },
  )
})

describe('what was stored and is gone', () => {
  test('a log that was cut: the last number that is there, and the one that was stored last, with their times', () => {
    say(begun(), ...Array.from({ length: 20 }, (_, n) => `m${n + 1}`))
    const found = copied('found.db')
    truncateSync(`${found}-wal`, Math.floor(statSync(`${found}-wal`).size * 0.9))
    const { gap } = checkJournalEnd(found)
    expect(gap).toMatchObject({ isLocal: false, expected: { seq: 21, at: 1_020 } })
    expect(gap?.found.seq).toBeLessThan(21)
    expect(gap?.found.at).toBe(999 + (gap?.found.seq as number))
  })

  test('a log that was removed before anything of it was in the database', () => {
    say(begun(), 'm1')
    const found = copied('found.db')
    rmSync(`${found}-wal`)
    expect(checkJournalEnd(found)).toMatchObject({
      workspace: undefined,
      gap: { expected: { seq: 2 }, found: { seq: 0 } },
    })
  })

  test('an older copy of the database, also once it has gone on to the same number', () => {
    const store = begun()
    say(store, 'm1')
    const older = copied('older.db')
    rmSync(journalEndPath(older))
    say(store, 'm2', 'm3')
    copyFileSync(journalEndPath(path), join(directory, 'kept'))
    const goneOn = opened(older)
    for (const cause of ['x1', 'x2', 'x3']) {
      copyFileSync(join(directory, 'kept'), journalEndPath(older))
      expect(checkJournalEnd(older).gap).toMatchObject({ expected: { seq: 4 }, found: { seq: goneOn.journal.lastSeq } })
      say(goneOn, cause)
    }
  })

  test('the look leaves database and log as they are, byte for byte', () => {
    say(begun(), ...Array.from({ length: 20 }, (_, n) => `m${n + 1}`))
    const found = copied('found.db')
    truncateSync(`${found}-wal`, 20_000)
    const bytes = () => ['', '-wal', '.end'].map((end) => readFileSync(found + end).toString('latin1'))
    const before = bytes()
    expect(checkJournalEnd(found).gap).toBeDefined()
    expect(bytes()).toEqual(before)
  })
})

test('the database of another workspace says whose it is', () => {
  say(begun(), 'm1')
  const other = join(directory, 'other.db')
  say(begun('w_other', other), 'm1', 'm2')
  copyFileSync(journalEndPath(path), journalEndPath(other))
  expect(checkJournalEnd(other)).toMatchObject({ workspace: 'w_other', expected: { workspace: 'w_app' } })
})

test('an entry that lost its facts to pruning is still the one that was stored last', () => {
  const store = begun()
  say(store, 'm1')
  store.database.exec("UPDATE journal SET facts = '[]', outcome = '{\"pruned\":1}' WHERE seq = 2")
  expect(checkJournalEnd(path).gap).toBeUndefined()
})

describe('a workspace that several machines share', () => {
  function shared(): Store {
    begun().markAsShared('laptop', 'copy.', 1)
    const store = opened(path, 'laptop')
    store.transact(() => void store.appendLocal(draft('l1')))
    return store
  }

  test('what this machine has decided by itself has an end too, and is missed', () => {
    const store = shared()
    const older = copied('older.db')
    store.transact(() => void store.appendLocal(draft('l2')))
    copyFileSync(journalEndPath(path), journalEndPath(older))
    const seq = store.local?.lastSeq
    expect(readEndFile(path)).toMatchObject({ journal: { seq: 1 }, local: { seq } })
    expect(checkJournalEnd(older).gap).toMatchObject({
      isLocal: true,
      expected: { seq, at: 1_002 },
      found: { at: 1_001 },
    })
  })

  test('once it has lost some of that, it goes on with numbers that the others have never heard of', () => {
    const store = shared()
    const older = copied('older.db')
    store.transact(() => void store.appendLocal(draft('l2')))
    const cut = opened(older, 'laptop')
    cut.transact(() => void cut.appendLocal(draft('l9')))
    expect(cut.local?.lastSeq).toBeGreaterThan(store.local?.lastSeq as number)
  })

  test('taken back, it has one journal, and its end is that of this one', () => {
    const store = shared()
    store.endSharing()
    expect(readEndFile(path)).toMatchObject({ journal: { seq: 2 }, local: { seq: 0 } })
    expect(checkJournalEnd(path).gap).toBeUndefined()
  })

  test('a copy that takes its place with fewer entries raises no alarm', () => {
    const store = shared()
    say(store, 'm1', 'm2')
    const fresh = join(directory, 'fresh.db')
    begun('w_app', fresh)
    store.replaceWith(fresh)
    expect(checkJournalEnd(path)).toMatchObject({ expected: undefined, gap: undefined })
    opened()
    expect(readEndFile(path)?.journal.seq).toBe(1)
  })
})

test('a database in memory has no end file', () => {
  const memory = opened(':memory:')
  say(memory, 'm1')
  expect(existsSync(journalEndPath(':memory:'))).toBe(false)
})
