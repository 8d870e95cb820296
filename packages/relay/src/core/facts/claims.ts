// Rows of the table of facts (stored events) about claims on files. Only the machine that has the file may append facts about claims on it.

import { conflictKeys } from '../conflict-keys.ts'
import { hasCredential, type Reader } from '../sight.ts'
import type { View } from '../view.ts'
import {
  type FactRow,
  type FactRows,
  noConflictKeys,
  onlyHomeMachine,
  onlyNamedMachine,
  type PruneLookups,
} from './row.ts'
import { hasFields, isCount, isLabel, isListOf, isOneOf, isText, optional } from './shape.ts'

/** Shows claims to all readers with a credential: everybody sees who is editing which file. */
const toReadersWithCredential = { to: 'everyone', if: (_: View, reader: Reader) => hasCredential(reader) } as const
const claimKeys = ({ path }: { path: string }) => [conflictKeys.claim(path), conflictKeys.claims]
const whenClaimEnded = {
  oldAnd: ({ path, machine }: { path: string; machine?: string }, lookups: PruneLookups) =>
    !lookups.hasClaim(path, machine),
}

interface EditConflictFact {
  agent: string
  claims: { holder: string }[]
}

const editConflict = {
  mayAppend: onlyHomeMachine,
  audience: {
    to: 'agents',
    agentNames: ({ agent, claims }: EditConflictFact) => [agent, ...claims.map(({ holder }) => holder)],
  },
  changedKeys: noConflictKeys,
  prunableWhen: 'old',
} as const satisfies Omit<FactRow<EditConflictFact>, 'shape'>

const ofFile = { path: isText, agent: isLabel, machine: optional(isLabel) }
const editConflictFields = {
  agent: isLabel,
  root: isText,
  claims: isListOf(hasFields({ file: isText, holder: isLabel, since: isCount })),
  count: isCount,
  what: isOneOf('edit', 'git'),
}

export const claimFacts: FactRows<`claim.${string}`> = {
  'claim.made': {
    shape: { ...ofFile, root: isText, file: isText, repository: isText, how: isOneOf('edit', 'hand'), until: isCount },
    mayAppend: (fact, by) => onlyNamedMachine(fact, by) && by.speaksFor(fact.agent),
    audience: toReadersWithCredential,
    changedKeys: claimKeys,
    prunableWhen: whenClaimEnded,
  },
  'claim.renewed': {
    shape: { ...ofFile, until: isCount },
    mayAppend: onlyNamedMachine,
    audience: { to: 'agents', agentNames: ({ agent }) => [agent] },
    changedKeys: claimKeys,
    prunableWhen: whenClaimEnded,
  },
  'claim.ended': {
    shape: { ...ofFile, root: isText, file: isText, why: isOneOf('released', 'committed', 'gone') },
    mayAppend: ({ machine }, { actsFor }) => actsFor(machine),
    audience: toReadersWithCredential,
    changedKeys: claimKeys,
    prunableWhen: whenClaimEnded,
  },
  'claim.denied': { ...editConflict, shape: editConflictFields },
  'claim.passed': { ...editConflict, shape: { ...editConflictFields, why: isOneOf('warned', 'late', 'worktree') } },
}
