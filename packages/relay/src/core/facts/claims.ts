// Rows of the table of facts (stored events) about claims on files. Only the machine that has the file tells of claims on it.

import { keys } from '../conflict-keys.ts'
import { hasCredential, type Reader } from '../sight.ts'
import type { View } from '../view.ts'
import { type FactRow, type FactRows, homeOfAgent, namesItself, noKey, type Remains } from './row.ts'
import { count, fields, label, listOf, maybe, oneOf, text } from './shape.ts'

/** Shows claims to all readers with a credential: everybody sees who is editing which file. */
const seen = { to: 'everyone', if: (_: View, reader: Reader) => hasCredential(reader) } as const
const writes = ({ path }: { path: string }) => [keys.claim(path), keys.claims]
const over = {
  once: ({ path, machine }: { path: string; machine?: string }, left: Remains) => !left.hasClaim(path, machine),
}

interface Met {
  agent: string
  claims: { holder: string }[]
}

const crossing = {
  said: homeOfAgent,
  seen: {
    to: 'agents',
    who: ({ agent, claims }: Met) => [agent, ...claims.map(({ holder }) => holder)],
  },
  writes: noKey,
  over: 'old',
} as const satisfies Omit<FactRow<Met>, 'shape'>

const ofFile = { path: text, agent: label, machine: maybe(label) }
const met = {
  agent: label,
  root: text,
  claims: listOf(fields({ file: text, holder: label, since: count })),
  count,
  what: oneOf('edit', 'git'),
}

export const claimFacts: FactRows<'claim.made' | 'claim.renewed' | 'claim.ended' | 'claim.denied' | 'claim.passed'> = {
  'claim.made': {
    shape: { ...ofFile, root: text, file: text, repository: text, how: oneOf('edit', 'hand'), until: count },
    said: (fact, by) => namesItself(fact, by) && by.speaksFor(fact.agent),
    seen,
    writes,
    over,
  },
  'claim.renewed': {
    shape: { ...ofFile, until: count },
    said: namesItself,
    seen: { to: 'agents', who: ({ agent }) => [agent] },
    writes,
    over,
  },
  'claim.ended': {
    shape: { ...ofFile, root: text, file: text, why: oneOf('released', 'committed', 'gone') },
    said: ({ machine }, { actsFor }) => actsFor(machine),
    seen,
    writes,
    over,
  },
  'claim.denied': { ...crossing, shape: met },
  'claim.passed': { ...crossing, shape: { ...met, why: oneOf('warned', 'late', 'worktree') } },
}
