// The requirements for every journal, as checks over the contract of core/journal.ts. Each answer is awaited: a journal may live on another machine.

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { EntryDraft, JournalEntry, RecordedAnswer } from '../../src/core/journal.ts'

type Later<T> = T | Promise<T>

/** A journal with the way that entries get into it. `append` answers undefined where the command has an entry already. */
export interface OpenJournal {
  readonly lastSeq: number
  append(draft: EntryDraft): Later<JournalEntry | undefined>
  answered(by: string, cause: string): Later<RecordedAnswer | undefined>
  follow(since: number, limit: number): Later<JournalEntry[]>
  payload(seq: number): Later<Uint8Array | undefined>
}

type Check = (open: () => Later<OpenJournal>) => Promise<void>

const draft = (by: string, cause: string, more: Partial<EntryDraft> & Pick<EntryDraft, 'facts'>): EntryDraft => ({
  at: 1_700_000_000_000,
  by,
  cause,
  rule: 'test',
  outcome: {},
  ...more,
})

const names = ['ada', 'bob']
const pair = '@ada,bob'

/** Two agents and their conversation, in three entries. */
const beginning: EntryDraft[] = [
  ...names.map((name) =>
    draft(name, `hello ${name}`, {
      facts: [{ type: 'agent.registered', id: `a_${name}`, agent: { name, type: 'agent' } }],
    }),
  ),
  draft('ada', 'open', { facts: [{ type: 'conversation.opened', conversation: pair, members: names }] }),
]

function message(n: number, body: string, more: Partial<EntryDraft> = {}): EntryDraft {
  const created = { type: 'message.created', id: `m_${n}`, conversation: pair, n, from: 'ada', kind: 'free' } as const
  return draft('ada', `c${n}`, { rule: 'message.send', outcome: { id: `m_${n}` }, facts: [created], body, ...more })
}

/** One entry of every kind that something belongs to. */
export const everyKind: EntryDraft[] = [
  ...beginning,
  message(1, 'words, “quotes”, 日本語, \n, and none of it lost', { digest: 'of 1' }),
  message(2, ''),
  draft('bob', 'offer', {
    facts: [
      {
        type: 'action.registered',
        name: 'do.it',
        provider: 'bob',
        session: 's_1',
        description: 'd',
        inputSchema: { type: 'object' },
        timeoutMs: 1_000,
      },
    ],
  }),
  draft('ada', 'call', {
    facts: [
      {
        type: 'action.invoked',
        id: 'act_1',
        action: 'do.it',
        caller: 'ada',
        provider: 'bob',
        session: 's_1',
        inputBytes: 7,
        until: 1_700_000_001_000,
      },
    ],
    body: '{"a":1}',
  }),
  draft('bob', 'answer', {
    facts: [{ type: 'action.completed', id: 'act_1', action: 'do.it', caller: 'ada', ok: true, durationMs: 5 }],
    body: '"done"',
  }),
  draft('ada', 'spawn', {
    facts: [
      { type: 'worker.wished', id: 'wk_1', worker: 'bob', parent: 'ada', cli: 'shell', cwd: '/', isInjected: false },
    ],
    body: 'the task',
  }),
  draft('agent-relay', 'exit', {
    facts: [{ type: 'worker.changed', id: 'wk_1', worker: 'bob', status: 'exited', code: 0 }],
    body: 'the last screen',
  }),
  draft('ada', 'start', {
    facts: [{ type: 'run.started', id: 'run_1', agent: 'bob', parent: 'ada', harness: 'external' }],
    body: 'the contract',
  }),
  draft('bob', 'complete', {
    at: 1_600_000_000_000,
    facts: [
      { type: 'run.completed', id: 'run_1', agent: 'bob', summary: 'all of it', payloadBytes: 3 },
      { type: 'message.created', id: 'm_3', conversation: pair, n: 3, from: 'bob', kind: 'status' },
    ],
    body: 'it is complete',
    payload: new Uint8Array([31, 139, 0, 255]),
  }),
  draft('bob', 'read', { facts: [{ type: 'delivery.read', message: 'm_1', agent: 'bob' }] }),
]

/** Appends them all, and answers the entries as the journal numbered them. */
async function filled(journal: OpenJournal, drafts: EntryDraft[]): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = []
  for (const each of drafts) entries.push((await journal.append(each)) as JournalEntry)
  return entries
}

/** As a reader gets it. */
function read({ payload: _, ...entry }: JournalEntry): JournalEntry {
  return JSON.parse(JSON.stringify(entry))
}

function untimed(entry: JournalEntry): JournalEntry {
  return { ...read(entry), at: 0 }
}

function same(what: string, got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted))
    throw new Error(`${what}:\n     got ${JSON.stringify(got)}\n  wanted ${JSON.stringify(wanted)}`)
}

const bodies = fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { maxLength: 30 })
const page = fc.integer({ min: 1, max: 9 })

export const checks: Record<string, Check> = {
  'numbers begin at 1, in the order of the appends and without a gap': async (open) => {
    const journal = await open()
    same('the last number of an empty journal', journal.lastSeq, 0)
    const entries = await filled(journal, everyKind)
    same(
      'the numbers',
      entries.map(({ seq }) => seq),
      everyKind.map((_, i) => i + 1),
    )
    same('the last number', journal.lastSeq, everyKind.length)
  },
  'an entry read back is all that was appended, but for its payload': async (open) => {
    const journal = await open()
    const entries = await filled(journal, everyKind)
    same('the entries', await journal.follow(0, 1_000), entries.map(read))
    // A journal may correct the time of an entry, and nothing else.
    for (const [i, entry] of entries.entries())
      same(
        `what was appended as ${entry.seq}`,
        untimed(entry),
        untimed({ ...(everyKind[i] as EntryDraft), seq: entry.seq }),
      )
  },
  'the payload of an entry is given by request, and only its own': async (open) => {
    const journal = await open()
    const entries = await filled(journal, everyKind)
    for (const { seq, payload } of entries) {
      const got = await journal.payload(seq)
      same(`the payload of ${seq}`, got && [...got], payload && [...payload])
    }
    same('the payload of no entry', await journal.payload(1_000), undefined)
  },
  'followed in pages of any length, every entry comes once and in order': async (open) => {
    await fc.assert(
      fc.asyncProperty(bodies, page, async (texts, limit) => {
        const journal = await open()
        const drafts = [...beginning, ...texts.map((text, i) => message(i + 1, text))]
        const entries = (await filled(journal, drafts)).map(read)
        const got: JournalEntry[] = []
        for (let since = 0; ; ) {
          const some = await journal.follow(since, limit)
          if (some.length > limit) throw new Error(`a page of ${limit} has ${some.length} entries`)
          got.push(...some)
          if (some.length < limit || got.length > entries.length) break
          since = some[some.length - 1]?.seq as number
        }
        same('the pages', got, entries)
        same('what follows the last', await journal.follow(journal.lastSeq, limit), [])
      }),
      { numRuns: 20 },
    )
  },
  'a command is appended once, and its answer can be asked for': async (open) => {
    const journal = await open()
    await filled(journal, beginning)
    const first = (await journal.append(message(1, 'x', { digest: 'of x' }))) as JournalEntry
    const repeated = message(2, 'y', { cause: 'c1', outcome: { id: 'another' } })
    same('the repeated command', await journal.append(repeated), undefined)
    same('the last number', journal.lastSeq, first.seq)
    const { seq, rule, digest, outcome } = first
    same('its answer', await journal.answered('ada', 'c1'), { seq, rule, digest, outcome })
    same('the answer to another’s command', await journal.answered('bob', 'c1'), undefined)
    // The id of a command is its sender's own: another sender may use the same one.
    const others = message(2, 'z', { cause: 'c1', by: 'bob' })
    same('the same id of another sender', (await journal.append(others))?.seq, seq + 1)
    same('the answer to it', (await journal.answered('bob', 'c1'))?.seq, seq + 1)
  },
}
