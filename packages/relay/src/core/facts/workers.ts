// Rows of the table of facts (stored events) about workers. A machine may append facts only about its own workers, so that no other machine can have a program
// started or ended there.

import { workerControls, workerStates } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../conflict-keys.ts'
import { type Reader, sees } from '../sight.ts'
import type { View } from '../view.ts'
import { type AppendedEntry, type FactRow, type FactRows, onlyNamedMachine } from './row.ts'
import {
  hasFields,
  isCount,
  isFlag,
  isLabel,
  isListOf,
  isLongText,
  isOneOf,
  isText,
  isWholeNumber,
  optional,
} from './shape.ts'

const workerKeys = ({ worker }: { worker: string }) => [conflictKeys.worker(worker), conflictKeys.workers]

const ofItsMachine = {
  mayAppend: ({ id, worker }: { id: string; worker: string }, { view, actsFor }: AppendedEntry) => {
    const row = view.workers.byId(id)
    return row !== undefined && row.name === worker && actsFor(row.machine)
  },
  audience: {
    to: 'everyone',
    if: (view: View, reader: Reader, { id }: { id: string }) => {
      const row = view.workers.byId(id)
      return row !== undefined && sees(view, reader, 'worker', row)
    },
  },
  changedKeys: workerKeys,
} as const satisfies Omit<FactRow<{ id: string; worker: string }>, 'shape'>

const program = { command: optional(isListOf(isText)), args: optional(isListOf(isText)) }
const asked = hasFields({
  ...program,
  cli: isLabel,
  control: optional(isOneOf(...workerControls)),
  cwd: isText,
  worktree: optional(isFlag),
  continues: optional(isText),
})
const named = { id: isText, worker: isLabel }

export const workerFacts: FactRows<`worker.${string}`> = {
  'worker.wished': {
    shape: {
      ...named,
      parent: isLabel,
      cli: isLabel,
      ...program,
      model: optional(isLabel),
      cwd: isText,
      isInjected: isFlag,
      control: optional(isOneOf('acp')),
      worktree: optional(
        hasFields({ repository: isText, path: isText, branch: isText, base: isText, onto: optional(isText) }),
      ),
      machine: optional(isLabel),
      asked: optional(asked),
      again: optional(isText),
    },
    mayAppend: (fact, by) => onlyNamedMachine(fact, by) && by.speaksFor(fact.worker) && !by.view.workers.byId(fact.id),
    audience: {
      to: 'everyone',
      if: (view, reader, { worker: name, parent }) => sees(view, reader, 'worker', { name, parent }),
    },
    changedKeys: workerKeys,
  },
  'worker.wish-changed': {
    ...ofItsMachine,
    shape: { ...named, wish: isOneOf('run', 'paused', 'gone'), reason: optional(isLongText) },
  },
  'worker.interrupted': { ...ofItsMachine, shape: { ...named, reason: optional(isLongText) } },
  'worker.changed': {
    ...ofItsMachine,
    shape: {
      ...named,
      status: isOneOf(...workerStates),
      pid: optional(isCount),
      code: optional(isWholeNumber),
      reason: optional(isLongText),
      control: optional(isOneOf('pty')),
      conversation: optional(isLabel),
    },
  },
  'worker.worktree-removed': { ...ofItsMachine, shape: named },
}
