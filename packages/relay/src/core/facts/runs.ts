// Rows of the table of facts (stored events) about runs, the contracts that agents are given.

import { keys } from '../conflict-keys.ts'
import { type AppendedEntry, type FactRow, type FactRows, type Known, namesItself } from './row.ts'
import { count, flag, label, maybe, text, words } from './shape.ts'

const runKeys = ({ id }: { id: string }) => [keys.run(id), keys.runs]

/** The end of a run may be said by the run's machine, by the home machine of the agent that carries it out, and by that of the agent that asked for it. */
const end = {
  said: ({ id, agent }: { id: string; agent: string }, { view, speaksFor, actsFor }: AppendedEntry) => {
    const run = view.runs.byId(id)
    if (!run || run.agent !== agent) return false
    return actsFor(run.machine) || speaksFor(run.agent) || speaksFor(run.parent)
  },
  seen: {
    to: 'agents',
    *who({ id, agent }: { id: string; agent: string }, known: Known) {
      yield agent
      yield known.runs.byId(id)?.parent
    },
  },
  writes: runKeys,
  over: 'never',
} as const satisfies Omit<FactRow<{ id: string; agent: string }>, 'shape'>

export const runFacts: FactRows<'run.started' | 'run.completed' | 'run.stopped'> = {
  'run.started': {
    shape: {
      id: text,
      agent: label,
      parent: label,
      harness: label,
      model: maybe(label),
      cwd: maybe(text),
      machine: maybe(label),
      worktree: maybe(flag),
      again: maybe(text),
    },
    said: (fact, by) => namesItself(fact, by) && by.speaksFor(fact.parent) && !by.view.runs.byId(fact.id),
    seen: { to: 'agents', who: ({ agent, parent }) => [agent, parent] },
    writes: runKeys,
    over: 'never',
  },
  'run.completed': { ...end, shape: { id: text, agent: label, summary: words, payloadBytes: maybe(count) } },
  'run.stopped': { ...end, shape: { id: text, agent: label, reason: maybe(words) } },
}
