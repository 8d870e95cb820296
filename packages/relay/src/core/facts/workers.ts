// Rows of the table of facts (stored events) about workers. A machine may tell only of its own workers, so that no other machine can have a program
// started or ended there.

import { controls, workerStates } from '@agent-relay/sdk/protocol'
import { keys } from '../conflict-keys.ts'
import { type Reader, sees } from '../sight.ts'
import type { View } from '../view.ts'
import { type AppendedEntry, type FactRow, type FactRows, namesItself } from './row.ts'
import { count, fields, flag, label, listOf, maybe, oneOf, text, whole, words } from './shape.ts'

const workerKeys = ({ worker }: { worker: string }) => [keys.worker(worker), keys.workers]

const ofItsMachine = {
  said: ({ id, worker }: { id: string; worker: string }, { view, actsFor }: AppendedEntry) => {
    const row = view.workers.byId(id)
    return row !== undefined && row.name === worker && actsFor(row.machine)
  },
  seen: {
    to: 'everyone',
    if: (view: View, reader: Reader, { id }: { id: string }) => {
      const row = view.workers.byId(id)
      return row !== undefined && sees(view, reader, 'worker', row)
    },
  },
  writes: workerKeys,
  over: 'never',
} as const satisfies Omit<FactRow<{ id: string; worker: string }>, 'shape'>

const program = { command: maybe(listOf(text)), args: maybe(listOf(text)) }
const asked = fields({ ...program, cli: label, control: maybe(oneOf(...controls)), cwd: text, worktree: maybe(flag) })
const named = { id: text, worker: label }

export const workerFacts: FactRows<
  'worker.wished' | 'worker.wish-changed' | 'worker.changed' | 'worker.worktree-removed'
> = {
  'worker.wished': {
    shape: {
      ...named,
      parent: label,
      cli: label,
      ...program,
      model: maybe(label),
      cwd: text,
      isInjected: flag,
      control: maybe(oneOf('acp')),
      worktree: maybe(fields({ repository: text, path: text, branch: text, base: text, onto: maybe(text) })),
      machine: maybe(label),
      asked: maybe(asked),
      again: maybe(text),
    },
    said: (fact, by) => namesItself(fact, by) && by.speaksFor(fact.worker) && !by.view.workers.byId(fact.id),
    seen: {
      to: 'everyone',
      if: (view, reader, { worker: name, parent }) => sees(view, reader, 'worker', { name, parent }),
    },
    writes: workerKeys,
    over: 'never',
  },
  'worker.wish-changed': {
    ...ofItsMachine,
    shape: { ...named, wish: oneOf('run', 'paused', 'gone'), reason: maybe(words) },
  },
  'worker.changed': {
    ...ofItsMachine,
    shape: {
      ...named,
      status: oneOf(...workerStates),
      pid: maybe(count),
      code: maybe(whole),
      reason: maybe(words),
      control: maybe(oneOf('pty')),
    },
  },
  'worker.worktree-removed': { ...ofItsMachine, shape: named },
}
