// The requirements for every cluster, as checks over the contract of src/cluster/cluster-journal.ts.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { until } from '../../../../test/until.ts'
import {
  type Append,
  type AppendResult,
  type ChangedKeys,
  type ClusterJournal,
  entryAheadMsMax,
  type JournalPosition,
  journalStart,
  pageEntriesMax,
  type SharedDraft,
  type SharedEntry,
} from '../../src/cluster/cluster-journal.ts'
import { keyText } from '../../src/cluster/keys.ts'
import { everyKind } from '../store/journal-suite.ts'

export interface OpenCluster {
  /** A daemon of this machine starts and says hello. */
  start(machine: string): ClusterJournal | Promise<ClusterJournal>
  revoke(machine: string): void | Promise<void>
}

/** `histories`: how many a check tries that makes them up. */
type Check = (open: () => OpenCluster | Promise<OpenCluster>, histories?: number) => Promise<void>

let causes = 0

function draft(more: Partial<SharedDraft> = {}): SharedDraft {
  const stamp = { at: 1_700_000_000_000, by: 'ada', cause: `c${++causes}` }
  return { ...stamp, rule: 'test', outcome: {}, facts: [], writes: [], ...more }
}

/** An append of one entry that changes these. */
const writing = (writes: ChangedKeys) => ({ drafts: [draft({ writes })] })

function same(what: string, got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted))
    throw new Error(`${what}:\n     got ${JSON.stringify(got)}\n  wanted ${JSON.stringify(wanted)}`)
}

function kindOf(what: string, { kind }: { kind: string }, wanted: string): void {
  same(what, kind, wanted)
}

/** One machine's view of the cluster, which moves on with what it is told. */
class Seat {
  known: JournalPosition = journalStart
  readonly seen: SharedEntry[] = []
  readonly journal: ClusterJournal

  constructor(journal: ClusterJournal) {
    this.journal = journal
  }

  ask(more: Partial<Append> = {}): Append {
    return { position: this.known, reads: [], drafts: [draft()], ...more }
  }

  async append(more: Partial<Append> = {}): Promise<AppendResult> {
    return this.journal.append(this.ask(more))
  }

  async follow(limit = pageEntriesMax): Promise<void> {
    for (;;) {
      const followed = await this.journal.follow(this.known, limit)
      if (followed.kind !== 'entries') throw new Error(`follow says ${followed.kind}`)
      this.seen.push(...followed.entries)
      const last = followed.entries.at(-1)
      if (last) this.known = { seq: last.seq, mark: last.mark }
      if (!followed.isMore) return
    }
  }
}

async function seats(open: Parameters<Check>[0], ...machines: string[]): Promise<Seat[]> {
  const cluster = await open()
  return Promise.all(machines.map(async (machine) => new Seat(await cluster.start(machine))))
}

const numbers = (entries: readonly { seq: number }[]): number[] => entries.map(({ seq }) => seq)

/** Two seats; the second has not seen what the first appended. */
async function apart(open: Parameters<Check>[0], more: Partial<Append> = {}): Promise<[Seat, Seat]> {
  const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
  kindOf('the first append', await a.append(), 'ok')
  await Promise.all([a.follow(), b.follow()])
  kindOf('the second append', await a.append(more), 'ok')
  return [a, b]
}

/** What conflicts, told a second time and naively: by looking through all that was ever appended. */
function isBehind(history: readonly (Append & { last: number })[], { position: known, reads }: Append): boolean {
  const written = history
    .filter(({ last }) => last > known.seq)
    .flatMap(({ drafts }) => drafts.map(({ writes }) => writes))
  const decided = written.filter((writes) => writes !== 'note')
  return reads === 'all' ? decided.length > 0 : decided.flat().some((key) => reads.includes(key))
}

const keys = fc.subarray(['a', 'b', 'c', 'd'])
const step = fc.record({
  seat: fc.nat(2),
  reads: fc.oneof({ weight: 6, arbitrary: keys }, fc.constant('all' as const)),
  drafts: fc.array(fc.oneof({ weight: 6, arbitrary: keys }, fc.constant('note' as const)), { maxLength: 3 }),
  follows: fc.boolean(),
})

export const checks: Record<string, Check> = {
  'entries come back whole but for their payloads, numbered in order and with the machine that appended them': async (
    open,
  ) => {
    const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
    const appended = await a.append({ drafts: everyKind.map((each) => ({ ...each, writes: ['x'] })) })
    if (appended.kind !== 'ok') throw new Error(appended.kind)
    same(
      'the numbers',
      numbers(appended.numbered),
      [...everyKind.keys()].map((i) => i + 1),
    )
    await b.follow(5)
    const wanted = everyKind.map(({ payload: _, ...each }, i) => {
      return { ...each, writes: ['x'], ...appended.numbered[i], machine: 'one' }
    })
    same('the entries', JSON.parse(JSON.stringify(b.seen)), JSON.parse(JSON.stringify(wanted)))
    for (const [i, { payload }] of everyKind.entries()) {
      const got = await b.journal.payload(i + 1)
      same(`the payload of ${i + 1}`, got && [...got], payload && [...payload])
    }
    same('marks differ', new Set(b.seen.map(({ mark }) => mark)).size, everyKind.length)
  },
  'an append that read what nobody wrote is stored, and told what it has missed': async (open) => {
    const [, b] = await apart(open, writing(['x']))
    const appended = await b.append({ reads: ['y'] })
    kindOf('it', appended, 'ok')
    if (appended.kind !== 'ok') return
    same('what it missed', numbers(appended.missed), [2])
    same('its number', numbers(appended.numbered), [3])
  },
  'an append that read what was written since is not stored, and told what it has missed': async (open) => {
    const [a, b] = await apart(open, writing(['x']))
    const appended = await b.append({ reads: ['y', 'x'] })
    kindOf('it', appended, 'behind')
    if (appended.kind === 'behind') same('what it missed', numbers(appended.missed), [2])
    await a.follow()
    same('the last number', a.known.seq, 2)
    await b.follow()
    kindOf('once it has seen all', await b.append({ reads: ['y', 'x'] }), 'ok')
  },
  'an append that may depend on anything is stored only where nothing was decided since; notes decide nothing': async (
    open,
  ) => {
    const [, b] = await apart(open, writing('note'))
    kindOf('after a note', await b.append({ reads: 'all' }), 'ok')
    const [, d] = await apart(open)
    kindOf('after a decision', await d.append({ reads: 'all' }), 'behind')
    kindOf('a note itself', await d.append(writing('note')), 'ok')
  },
  'a barrier writes nothing and says whether what was read still holds': async (open) => {
    const [a, b] = await apart(open, writing(['x']))
    kindOf('another key', await b.append({ reads: ['y'], drafts: [] }), 'ok')
    kindOf('the key', await b.append({ reads: ['x'], drafts: [] }), 'behind')
    await a.follow()
    kindOf('all, having seen all', await a.append({ reads: 'all', drafts: [] }), 'ok')
    await a.follow()
    same('the last number', a.known.seq, 2)
  },
  'a command that has an entry which the appender has not seen is not stored again': async (open) => {
    const once = draft({ by: 'agent-relay' })
    const [a, b] = await apart(open, { drafts: [once] })
    for (const seat of [a, b]) kindOf('it again', await seat.append({ drafts: [draft(), once] }), 'behind')
    const others = { ...once, by: 'another' }
    kindOf('the same id of another sender', await b.append({ drafts: [others] }), 'ok')
    await b.follow()
    // The one that is there may count for nothing, which machines judge.
    kindOf('having seen it', await b.append({ drafts: [once] }), 'ok')
  },
  'a daemon that started earlier with the same identity is fenced': async (open) => {
    const cluster = await open()
    const former = new Seat(await cluster.start('one'))
    kindOf('the first', await former.append(), 'ok')
    const later = new Seat(await cluster.start('one'))
    kindOf('the former one appends', await former.append(), 'fenced')
    kindOf('the former one follows', await former.journal.follow(journalStart, 1), 'fenced')
    kindOf('the later one', await later.append(), 'ok')
  },
  'a machine that was revoked neither appends nor follows': async (open) => {
    const cluster = await open()
    const seat = new Seat(await cluster.start('one'))
    kindOf('before', await seat.append(), 'ok')
    await cluster.revoke('one')
    kindOf('it appends', await seat.append(), 'revoked')
    kindOf('it follows', await seat.journal.follow(journalStart, 1), 'revoked')
  },
  'a replica that knows another history is told so': async (open) => {
    const [a, b] = await apart(open)
    await a.follow()
    const another = { seq: b.known.seq, mark: `not ${b.known.mark}` }
    const beyond = { seq: a.known.seq + 1, mark: a.known.mark }
    for (const known of [another, beyond]) {
      same('it appends', await a.append({ position: known }), { kind: 'diverged', head: 2 })
      same('it follows', await a.journal.follow(known, 10), { kind: 'diverged', head: 2 })
      same('it waits for its turn', await a.journal.appendInTurn(known, () => a.ask({ position: known })), {
        kind: 'diverged',
        head: 2,
      })
    }
    kindOf('its own history', await b.append(), 'ok')
  },
  'time neither runs back nor far ahead': async (open) => {
    const [a] = (await seats(open, 'one')) as [Seat]
    const before = Date.now()
    await a.append({ drafts: [draft({ at: before + 3_600_000 }), draft({ at: 5 })] })
    await a.append({ drafts: [draft({ at: 7 })] })
    await a.follow()
    const [first, ...later] = a.seen.map(({ at }) => at)
    if (first === undefined || first < before || first > Date.now() + entryAheadMsMax)
      throw new Error(`it says ${first}`)
    same('the later times', later, [first, first])
  },
  'a long absence is told in parts, and an append waits for the last of them': async (open) => {
    const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
    const body = 'x'.repeat(250_000)
    for (let i = 0; i < 4; i++) {
      kindOf('large ones', await a.append({ drafts: Array.from({ length: 10 }, () => draft({ body })) }), 'ok')
      await a.follow()
    }
    await b.follow()
    same(
      'all of them',
      numbers(b.seen),
      [...Array(40).keys()].map((i) => i + 1),
    )
    same(
      'whole',
      b.seen.every((entry) => entry.body === body),
      true,
    )
  },
  'whatever can be a text is kept, and told apart': async (open) => {
    const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
    const texts = ['a\0b', 'a\\u0000b', '\ud800', '\ufffd', '\\"a"', '"', "'; --", 'é', 'e\u0301', ' ', 'x'.repeat(200)]
    const drafts = texts.map((text) => draft({ cause: text, body: text, digest: text, outcome: { text } as never }))
    kindOf('all of them', await a.append({ drafts }), 'ok')
    await b.follow()
    same(
      'causes',
      b.seen.map(({ cause }) => cause),
      texts,
    )
    same(
      'bodies',
      b.seen.map((entry) => entry.body),
      texts,
    )
    const again = (cause: string) => ({ position: journalStart, drafts: [draft({ cause })] })
    for (const text of texts) kindOf('again', await b.append(again(text)), 'behind')
    const odd = [...texts, 'k'.repeat(5_000)]
    await a.follow()
    for (const key of odd) kindOf('a key', await a.append(writing([keyText(key)])), 'ok')
    for (const key of odd) kindOf('read', await b.append({ reads: [keyText(key)], drafts: [] }), 'behind')
    kindOf('another', await b.append({ reads: [keyText('k'.repeat(5_001))], drafts: [] }), 'ok')
  },
  'a replica that lacks more than a page has to follow first': async (open) => {
    const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
    for (let i = 0; i <= pageEntriesMax; i += 500) {
      const drafts = Array.from({ length: Math.min(500, pageEntriesMax + 1 - i) }, () => draft())
      kindOf('many', await a.append({ drafts }), 'ok')
      await a.follow()
    }
    for (const writes of [[], 'note'] as const) {
      const appended = await b.append(writing(writes))
      kindOf('far behind', appended, 'behind')
      if (appended.kind === 'behind') same('one page', appended.missed.length, pageEntriesMax)
    }
    await b.follow()
    same(
      'all of them',
      numbers(b.seen),
      [...Array(pageEntriesMax + 1).keys()].map((i) => i + 1),
    )
    kindOf('having followed', await b.append(), 'ok')
  },
  'a hint tells that somebody has appended': async (open) => {
    const [a, b] = (await seats(open, 'one', 'two')) as [Seat, Seat]
    const heads: number[] = []
    const hints = b.journal.onHint((head) => heads.push(head))
    await a.append({ drafts: [draft(), draft()] })
    await until(() => heads.includes(2))
    hints.stop()
  },
  'in their turn all are stored at the first try, each having seen the one before': async (open) => {
    const all = await seats(open, 'one', 'two', 'three', 'four')
    const told: number[] = []
    const taken = all.map((seat) =>
      seat.journal.appendInTurn(seat.known, (missed) => {
        told.push(missed.length)
        const last = missed.at(-1)
        if (last) seat.known = { seq: last.seq, mark: last.mark }
        return seat.ask({ reads: 'all', ...writing(['x']) })
      }),
    )
    for (const appended of await Promise.all(taken)) kindOf('each', appended, 'ok')
    same('what each was told', told, [0, 1, 2, 3])
  },
  'any history of appends is answered as the conflict rule says, and every seat sees the same': async (
    open,
    histories = 60,
  ) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const all = await seats(open, 'one', 'two', 'three')
        const history: (Append & { last: number })[] = []
        let head = 0
        for (const { seat, reads, drafts, follows } of steps) {
          const at = all[seat] as Seat
          const ask = at.ask({ reads, drafts: drafts.map((writes) => draft({ writes })) })
          const answer = await at.journal.append(ask)
          kindOf(`step ${history.length}`, answer, isBehind(history, ask) ? 'behind' : 'ok')
          const missed = 'missed' in answer ? numbers(answer.missed) : []
          same(
            'what was missed',
            missed,
            [...Array(head - ask.position.seq).keys()].map((i) => ask.position.seq + 1 + i),
          )
          if (answer.kind === 'ok' && drafts.length > 0) {
            same(
              'its numbers',
              numbers(answer.numbered),
              [...drafts.keys()].map((i) => head + 1 + i),
            )
            head += drafts.length
            history.push({ ...ask, last: head })
          }
          if (follows) await at.follow()
        }
        for (const seat of all) await seat.follow(3)
        for (const seat of all) same('what each has seen', seat.seen, all[0]?.seen)
        same('how many', all[0]?.seen.length, head)
      }),
      { numRuns: histories },
    )
  },
}
