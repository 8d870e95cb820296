// Rows of the table of facts (stored events) about the workspace itself, and about the machines that share it.

import { Policy } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { type FactRows, noConflictKeys, noMachine, onlyOwnerMachine, toEveryone, toHolder } from './row.ts'
import { isCount, isLabel, isText } from './shape.ts'

const machines = () => [conflictKeys.machines]

export const workspaceFacts: FactRows<`workspace.${string}` | `machine.${string}`> = {
  'workspace.began': {
    shape: { id: isText },
    mayAppend: noMachine,
    audience: toHolder,
    changedKeys: noConflictKeys,
    prunableWhen: 'never',
  },
  'workspace.key-issued': {
    shape: { hash: isText },
    mayAppend: onlyOwnerMachine,
    audience: toHolder,
    changedKeys: noConflictKeys,
    prunableWhen: 'never',
  },
  // Only restoring a backup writes this fact, while nobody shares the workspace.
  'workspace.restored': {
    shape: {},
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: () => [conflictKeys.workers, conflictKeys.runs],
    prunableWhen: 'never',
  },
  'workspace.policy-set': {
    shape: { policy: (value) => Policy.safeParse(value).success },
    mayAppend: onlyOwnerMachine,
    audience: toEveryone,
    changedKeys: () => [conflictKeys.policy],
    prunableWhen: 'never',
  },
  'workspace.raised': {
    shape: { format: isCount },
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: machines,
    prunableWhen: 'never',
  },
  'workspace.owned': {
    shape: { machine: isLabel },
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: machines,
    prunableWhen: 'never',
  },
  'machine.revoked': {
    shape: { machine: isLabel },
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: machines,
    prunableWhen: 'never',
  },
  'machine.admitted': {
    shape: { machine: isLabel },
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: machines,
    prunableWhen: 'never',
  },
}
