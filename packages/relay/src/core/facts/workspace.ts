// Rows of the table of facts (stored events) about the workspace itself, and about the machines that share it.

import { Policy } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { type FactRows, noConflictKeys, noMachine, onlyOwnerMachine, toEveryone, toHolder } from './row.ts'
import { isCount, isLabel, isText } from './shape.ts'

/** The columns of facts that the administrator of the cluster's database writes about its machines. */
const byAdministrator = {
  mayAppend: noMachine,
  audience: toEveryone,
  changedKeys: () => [conflictKeys.machines],
} as const

export const workspaceFacts: FactRows<`workspace.${string}` | `machine.${string}`> = {
  'workspace.began': {
    shape: { id: isText },
    mayAppend: noMachine,
    audience: toHolder,
    changedKeys: noConflictKeys,
  },
  'workspace.key-issued': {
    shape: { hash: isText },
    mayAppend: onlyOwnerMachine,
    audience: toHolder,
    changedKeys: noConflictKeys,
  },
  // Only restoring a backup writes this fact, while nobody shares the workspace.
  'workspace.restored': {
    shape: {},
    mayAppend: noMachine,
    audience: toEveryone,
    changedKeys: () => [conflictKeys.workers, conflictKeys.runs],
  },
  'workspace.policy-set': {
    shape: { policy: (value) => Policy.safeParse(value).success },
    mayAppend: onlyOwnerMachine,
    audience: toEveryone,
    changedKeys: () => [conflictKeys.policy],
  },
  'workspace.raised': { ...byAdministrator, shape: { format: isCount } },
  'workspace.owned': { ...byAdministrator, shape: { machine: isLabel } },
  'machine.revoked': { ...byAdministrator, shape: { machine: isLabel } },
  'machine.admitted': { ...byAdministrator, shape: { machine: isLabel } },
}
