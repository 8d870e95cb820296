// The simulator of several machines notices when something is wrong: one fault at a time, planted between the machines and the cluster.

import type { Fact, NotedReceipt } from '@agent-relay/sdk/protocol'
import { expect, test } from 'vitest'
import {
  type Append,
  type AppendResult,
  type ClusterJournal,
  ClusterUnreachable,
  type FollowResult,
  type SharedEntry,
} from '../../../packages/relay/src/cluster/cluster-journal.ts'
import { playCluster } from './cluster-play.ts'
import type { Plant } from './machines.ts'

const seedsMax = 200

const asking =
  (change: (append: Append) => Append): Plant =>
  (journal) => ({
    append: (append) => journal.append(change(append)),
    appendInTurn: (known, decide) => journal.appendInTurn(known, (missed) => change(decide(missed))),
  })

const following =
  (change: (entries: SharedEntry[]) => SharedEntry[]): Plant =>
  (journal) => ({
    follow: async (known, limit) => {
      const followed = await journal.follow(known, limit)
      return followed.kind === 'entries' ? { ...followed, entries: change(followed.entries) } : followed
    },
  })

const each = (change: (entry: SharedEntry) => Partial<SharedEntry>) =>
  following((entries) => entries.map((entry) => ({ ...entry, ...change(entry) })))

const answering =
  (change: (appended: AppendResult, append: Append) => AppendResult): Plant =>
  (journal) => ({ append: async (append) => change(await journal.append(append), append) })

/** Changes the facts that are appended. */
const saying = (change: (fact: Fact) => Fact): Plant =>
  asking((append) => ({
    ...append,
    drafts: append.drafts.map((draft) => ({ ...draft, facts: draft.facts.map(change) })),
  }))

/** Changes which keys the cluster is told of. */
const writing = (change: (keys: readonly string[]) => string[]): Plant =>
  asking((append) => ({
    ...append,
    drafts: append.drafts.map(({ writes, ...draft }) => ({
      ...draft,
      writes: writes === 'note' ? writes : change(writes),
    })),
  }))

const noting = (change: (receipt: NotedReceipt) => NotedReceipt) =>
  saying((fact) => (fact.type === 'deliveries.noted' ? { ...fact, receipts: fact.receipts.map(change) } : fact))

const isFor = (type: string) => (entry: { facts: readonly { type: string }[] }) =>
  entry.facts.some((fact) => fact.type === type)

/** Answers without asking. */
const atOnce =
  (when: (append: Append) => boolean, answer: (append: Append) => AppendResult): Plant =>
  (journal: ClusterJournal) => ({
    append: async (append) => (when(append) ? answer(append) : journal.append(append)),
  })

const faults: Record<string, Plant> = {
  'what was read is forgotten': asking((append) => ({ ...append, reads: [] })),
  'what was written is forgotten': writing(() => []),
  'the numbers of conversations are not among the keys': writing((keys) => keys.filter((key) => !key.startsWith('c:'))),
  'a refusal is told without asking whether it still holds': atOnce(
    ({ drafts }) => drafts.length === 0,
    () => ({ kind: 'ok', numbered: [], missed: [] }),
  ),
  'a message is acknowledged and not stored': atOnce(
    ({ drafts, position: known }) => known.seq % 7 === 0 && drafts.some(isFor('message.created')),
    ({ drafts, position: known }) => ({
      kind: 'ok',
      numbered: drafts.map(({ at }, i) => ({ seq: known.seq + i + 1, at, mark: 'x' })),
      missed: [],
    }),
  ),
  'a command that is asked again is another one': (journal) => {
    let tries = 0
    const again = (append: Append): Append => ({
      ...append,
      drafts: append.drafts.map((draft) => ({ ...draft, cause: `${draft.cause} ${++tries}` })),
    })
    return { append: (append) => journal.append(again(append)) }
  },
  'what was missed is not told': answering((appended) =>
    'missed' in appended ? { ...appended, missed: [] } : appended,
  ),
  'the answer has another number': answering((appended) =>
    appended.kind === 'ok'
      ? { ...appended, numbered: appended.numbered.map((one) => ({ ...one, seq: one.seq + 1 })) }
      : appended,
  ),
  'the answer has another time': answering((appended) =>
    appended.kind === 'ok'
      ? { ...appended, numbered: appended.numbered.map((one) => ({ ...one, at: one.at + 1 })) }
      : appended,
  ),
  'an answer that was lost is taken for a question that never left': (journal) => ({
    append: (append) =>
      journal.append(append).catch((error: Error) => Promise.reject(new ClusterUnreachable(error.message, true))),
  }),
  'an entry is left out': following((entries) => entries.filter(({ seq }) => seq % 5 !== 0)),
  'nothing is followed': following(() => []),
  'bodies are lost on the way': each(({ body }) => (body === undefined ? {} : { body: '' })),
  'a fact is lost on the way': each(({ facts }) => ({ facts: facts.filter(({ type }) => type !== 'channel.joined') })),
  'how a command was answered is lost on the way': each(() => ({ outcome: {} })),
  'what was read is not told': noting(({ readAt: _, ...receipt }) => receipt),
  'what was offered is told with another route': noting((receipt) =>
    receipt.route === undefined ? receipt : { ...receipt, route: 'push' },
  ),
  'a note counts for the next home': saying((fact) =>
    fact.type === 'deliveries.noted' ? { ...fact, epoch: fact.epoch + 1 } : fact,
  ),
  'a take-over does not say so': saying((fact) => {
    if (fact.type !== 'agent.homed') return fact
    const { isTakeOver: _, ...homed } = fact
    return homed
  }),
  'a machine speaks for an agent of another': saying((fact) =>
    fact.type === 'message.created' && fact.n > 3 ? { ...fact, from: 'ada' } : fact,
  ),
  'the home of an agent is not among the keys': writing((keys) => keys.filter((key) => !key.startsWith('a:'))),
  'every machine takes itself for the home': (journal, machine) => {
    const mine = (entry: SharedEntry): SharedEntry => ({
      ...entry,
      facts: entry.facts.map((fact) => (fact.type === 'agent.homed' ? { ...fact, machine } : fact)),
    })
    return {
      follow: async (known, limit) => {
        const followed = await journal.follow(known, limit)
        return followed.kind === 'entries' ? { ...followed, entries: followed.entries.map(mine) } : followed
      },
    }
  },
  'a cluster that has lost entries is not noticed': (journal) => ({
    append: async (append) => pardoned(await journal.append(append), { kind: 'behind', missed: [] }),
    follow: async (known, limit) => pardoned(await journal.follow(known, limit), { kind: 'entries', entries: [] }),
  }),
}

function pardoned<T extends AppendResult | FollowResult>(answer: T, instead: T): T {
  return answer.kind === 'diverged' ? instead : answer
}

test.each(Object.keys(faults))('%s', async (name) => {
  const found = async () => {
    for (let seed = 1; seed <= seedsMax; seed++) await playCluster(seed, faults[name])
  }
  await expect(found()).rejects.toThrow(/seed \d+, \d machines/)
})
