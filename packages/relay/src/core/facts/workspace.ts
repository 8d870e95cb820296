// Rows of the table of facts (stored events) about the workspace itself, and about the machines that share it.

import { Policy } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { everyone, type FactRows, holder, noKey, noMachine, ownerMachine } from './row.ts'
import { count, label, text } from './shape.ts'

const machines = () => [keys.machines]

export const workspaceFacts: FactRows<
  | 'workspace.began'
  | 'workspace.key-issued'
  | 'workspace.restored'
  | 'workspace.policy-set'
  | 'workspace.raised'
  | 'workspace.owned'
  | 'machine.revoked'
  | 'machine.admitted'
> = {
  'workspace.began': { shape: { id: text }, said: noMachine, seen: holder, writes: noKey, over: 'never' },
  'workspace.key-issued': { shape: { hash: text }, said: ownerMachine, seen: holder, writes: noKey, over: 'never' },
  // Only restoring a backup writes this fact, while nobody shares the workspace.
  'workspace.restored': {
    shape: {},
    said: noMachine,
    seen: everyone,
    writes: () => [keys.workers, keys.runs],
    over: 'never',
  },
  'workspace.policy-set': {
    shape: { policy: (value) => Policy.safeParse(value).success },
    said: ownerMachine,
    seen: everyone,
    writes: () => [keys.policy],
    over: 'never',
  },
  'workspace.raised': { shape: { format: count }, said: noMachine, seen: everyone, writes: machines, over: 'never' },
  'workspace.owned': { shape: { machine: label }, said: noMachine, seen: everyone, writes: machines, over: 'never' },
  'machine.revoked': { shape: { machine: label }, said: noMachine, seen: everyone, writes: machines, over: 'never' },
  'machine.admitted': { shape: { machine: label }, said: noMachine, seen: everyone, writes: machines, over: 'never' },
}
