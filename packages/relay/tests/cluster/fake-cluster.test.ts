// The cluster in memory keeps the contract, and the suite finds clusters that do not.

import { describe, expect, test } from 'vitest'
import type { Append, ChangedKeys, ClusterJournal, JournalPosition } from '../../src/cluster/cluster-journal.ts'
import { checks, type OpenCluster } from './cluster-suite.ts'
import { FakeCluster } from './fake-cluster.ts'

describe('the cluster in memory', () => {
  test.each(Object.keys(checks))('%s', (name) =>
    expect(checks[name]?.(() => new FakeCluster())).resolves.toBeUndefined(),
  )
})

/** A cluster whose every connection does one thing otherwise. */
function changed(change: (journal: ClusterJournal) => Partial<ClusterJournal>): () => OpenCluster {
  return () => {
    const cluster = new FakeCluster()
    return {
      revoke: (machine) => cluster.revoke(machine),
      start: (machine) => {
        const journal = cluster.start(machine)
        const sound: ClusterJournal = {
          append: (append) => journal.append(append),
          appendInTurn: (known, decide) => journal.appendInTurn(known, decide),
          follow: (known, limit) => journal.follow(known, limit),
          payload: (seq) => journal.payload(seq),
          onHint: (listener) => journal.onHint(listener),
        }
        return { ...sound, ...change(journal) }
      },
    }
  }
}

let copies = 0

const appends = (change: (append: Append) => Append) =>
  changed((journal) => ({ append: (append) => journal.append(change(append)) }))

const writing = (change: () => ChangedKeys) =>
  appends((append) => ({ ...append, drafts: append.drafts.map((each) => ({ ...each, writes: change() })) }))

const faults: Record<string, () => OpenCluster> = {
  'stores what read an old key': appends((append) => ({ ...append, reads: [] })),
  'forgets which keys were written': writing(() => []),
  'takes every append for one that depends on all': appends((append) => ({ ...append, reads: 'all' })),
  'takes every entry for a note': writing(() => 'note'),
  'stores a command twice': appends((append) => ({
    ...append,
    drafts: append.drafts.map((each, i) => ({ ...each, cause: `${each.cause} ${i} ${++copies}` })),
  })),
  'loses payloads': appends((append) => ({
    ...append,
    drafts: append.drafts.map(({ payload: _, ...each }) => each),
  })),
  'stamps as it is told': changed((journal) => ({
    follow: async (known, limit) => {
      const followed = await journal.follow(known, limit)
      if (followed.kind === 'entries') for (const entry of followed.entries) entry.at = 1_700_000_000_000
      return followed
    },
  })),
  'leaves an entry out': changed((journal) => ({
    follow: async (known, limit) => {
      const followed = await journal.follow(known, limit)
      return followed.kind === 'entries' ? { ...followed, entries: followed.entries.slice(0, -1) } : followed
    },
  })),
  'does not say what was missed': changed((journal) => ({
    append: async (append) => {
      const answer = await journal.append(append)
      return 'missed' in answer ? { ...answer, missed: [] } : answer
    },
  })),
  'gives a turn without waiting for it': changed((journal) => ({
    appendInTurn: async (_: JournalPosition, decide) => journal.append(decide([])),
  })),
}

test.each(Object.keys(faults))('the suite finds a cluster that %s', async (fault) => {
  const open = faults[fault] as () => OpenCluster
  const all = async () => {
    for (const check of Object.values(checks)) await check(open)
  }
  await expect(all()).rejects.toThrow()
})
