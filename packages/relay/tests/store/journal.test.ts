// The journal in SQLite keeps the contract of journals, the suite finds journals that do not, and a copy that follows one has the same rows.

import { describe, expect, test } from 'vitest'
import type { JournalEntry } from '../../src/core/journal.ts'
import { derivedTables } from '../../src/store/migrations.ts'
import { Store } from '../../src/store/store.ts'
import { CoreWorld } from '../core/core-world.ts'
import { checks, everyKind, type OpenJournal } from './journal-suite.ts'

function openSqlite(): OpenJournal {
  const store = new Store(':memory:')
  const { journal } = store
  return {
    get lastSeq() {
      return journal.lastSeq
    },
    append: (draft) => store.transact(() => store.append(draft)),
    answered: (by, cause) => journal.recordedAnswer(by, cause),
    follow: (since, limit) => journal.entriesAfter(since, limit),
    payload: (seq) => journal.payload(seq),
  }
}

describe('the journal in SQLite', () => {
  test.each(Object.keys(checks))('%s', (name) => expect(checks[name]?.(openSqlite)).resolves.toBeUndefined())
})

describe('the suite finds a journal that', () => {
  const follow = (change: (entry: JournalEntry) => object) => (journal: OpenJournal) => ({
    follow: async (since: number, limit: number) =>
      (await journal.follow(since, limit)).map((entry) => ({ ...entry, ...change(entry) })),
  })
  const faults: Record<string, (journal: OpenJournal) => Partial<OpenJournal>> = {
    'loses bodies that are not a message’s': follow(({ rule, body }) =>
      rule === 'message.send' ? { body } : { body: undefined },
    ),
    'loses how a command was answered': follow(() => ({ outcome: {} })),
    'loses what was asked': follow(() => ({ digest: undefined })),
    'loses the rule': follow(() => ({ rule: '' })),
    'loses all but the first fact': follow(({ facts }) => ({ facts: facts.slice(0, 1) })),
    'sorts by time': (journal) => ({
      follow: async (since, limit) => [...(await journal.follow(since, limit))].sort((a, b) => a.at - b.at),
    }),
    'skips one entry between two pages': (journal) => ({
      follow: (since, limit) => journal.follow(since === 0 ? 0 : since + 1, limit),
    }),
    'tells the last entry of a page twice': (journal) => ({
      follow: (since, limit) => journal.follow(Math.max(0, since - 1), limit),
    }),
    'forgets the limit': (journal) => ({ follow: (since) => journal.follow(since, 1_000) }),
    'gives the payload of another entry': (journal) => ({ payload: (seq) => journal.payload(seq + 1) }),
    'carries out a repeated command': (journal) => ({
      append: async (draft) => (await journal.append(draft)) ?? journal.append({ ...draft, cause: `${draft.cause}'` }),
    }),
    'knows commands by their id alone': (journal) => ({
      answered: async (by, cause) => (await journal.answered(by, cause)) ?? journal.answered('ada', cause),
    }),
    'leaves out a number': (journal) => ({
      append: async (draft) => {
        const entry = await journal.append(draft)
        return entry && { ...entry, seq: entry.seq + 1 }
      },
    }),
  }

  test.each(Object.keys(faults))('%s', async (name) => {
    const open = () => {
      const journal = openSqlite()
      return Object.defineProperties(
        {},
        {
          ...Object.getOwnPropertyDescriptors(journal),
          ...Object.getOwnPropertyDescriptors(faults[name]?.(journal) ?? {}),
        },
      ) as OpenJournal
    }
    const results = await Promise.allSettled(Object.values(checks).map((check) => check(open)))
    expect(results.filter(({ status }) => status === 'rejected')).not.toEqual([])
  })
})

describe('a store that follows the journal of another', () => {
  const rowsOf = (store: Store) =>
    [...derivedTables, 'journal', 'messages', 'bodies', 'payloads'].map((table) => [
      table,
      store.database.prepare(`SELECT * FROM ${table}`).all(),
    ])
  /** All entries of the first, as a follower gets them, with their payloads. */
  const whole = ({ journal }: Store): JournalEntry[] =>
    journal.entriesAfter(0, 1_000).map((entry) => ({ ...entry, payload: journal.payload(entry.seq) }))

  function origin(): Store {
    const { store } = new CoreWorld().cast('cy')
    store.transact(() => {
      for (const draft of everyKind) store.append(draft)
    })
    return store
  }

  test('has the same rows, also after a rebuild', () => {
    const first = origin()
    const copy = new Store(':memory:')
    for (const entry of whole(first)) expect(copy.transact(() => copy.apply([entry]))).toBe(true)
    expect(rowsOf(copy)).toEqual(rowsOf(first))
    copy.rebuild()
    expect(rowsOf(copy)).toEqual(rowsOf(first))
  })

  test('never skips an entry', () => {
    const entries = whole(origin())
    const copy = new Store(':memory:')
    expect(() => copy.transact(() => copy.apply([...entries.slice(0, 3), ...entries.slice(4)]))).toThrow(
      'entry 5 cannot follow entry 3',
    )
    expect([copy.journal.lastSeq, [...copy.view.agents()]]).toEqual([0, []])
    copy.transact(() => copy.apply(entries))
    expect(copy.journal.lastSeq).toBe(entries.length)
  })

  test('refuses a message without its body', () => {
    const entries = whole(origin()).map(({ body: _, ...entry }) => entry)
    const copy = new Store(':memory:')
    expect(() => copy.transact(() => copy.apply(entries))).toThrow()
    expect(copy.journal.lastSeq).toBe(0)
  })

  test('refuses an entry whose command has another entry already', () => {
    const first = origin()
    const copy = new Store(':memory:')
    copy.transact(() => copy.apply(whole(first)))
    const [entry] = whole(first)
    const seq = copy.journal.lastSeq + 1
    expect(copy.transact(() => copy.apply([{ ...(entry as JournalEntry), seq }]))).toBe(false)
    expect(copy.journal.lastSeq).toBe(seq - 1)
  })
})
