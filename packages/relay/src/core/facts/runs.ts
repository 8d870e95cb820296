// Rows of the table of facts (stored events) about runs, the contracts that agents are given.

import { conflictKeys } from '../conflict-keys.ts'
import { type AppendedEntry, type AudienceLookups, type FactRow, type FactRows, onlyNamedMachine } from './row.ts'
import { isCount, isFlag, isLabel, isLongText, isText, optional } from './shape.ts'

const runKeys = ({ id }: { id: string }) => [conflictKeys.run(id), conflictKeys.runs]

/** The end of a run may be reported by the run's machine, by the home machine of the agent that carries it out, and by that of the agent that asked for it. */
const end = {
  mayAppend: ({ id, agent }: { id: string; agent: string }, { view, speaksFor, actsFor }: AppendedEntry) => {
    const run = view.runs.byId(id)
    if (!run || run.agent !== agent) return false
    return actsFor(run.machine) || speaksFor(run.agent) || speaksFor(run.parent)
  },
  audience: {
    to: 'agents',
    *agentNames({ id, agent }: { id: string; agent: string }, known: AudienceLookups) {
      yield agent
      yield known.runs.byId(id)?.parent
    },
  },
  changedKeys: runKeys,
} as const satisfies Omit<FactRow<{ id: string; agent: string }>, 'shape'>

export const runFacts: FactRows<`run.${string}`> = {
  'run.started': {
    shape: {
      id: isText,
      agent: isLabel,
      parent: isLabel,
      harness: isLabel,
      model: optional(isLabel),
      cwd: optional(isText),
      machine: optional(isLabel),
      worktree: optional(isFlag),
      again: optional(isText),
    },
    mayAppend: (fact, by) => onlyNamedMachine(fact, by) && by.speaksFor(fact.parent) && !by.view.runs.byId(fact.id),
    audience: { to: 'agents', agentNames: ({ agent, parent }) => [agent, parent] },
    changedKeys: runKeys,
  },
  'run.completed': {
    ...end,
    shape: { id: isText, agent: isLabel, summary: isLongText, payloadBytes: optional(isCount) },
  },
  'run.stopped': { ...end, shape: { id: isText, agent: isLabel, reason: optional(isLongText) } },
}
