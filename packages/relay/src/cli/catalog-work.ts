// The rows of the catalog for work: runs, worktrees, claims, approvals, spend, actions and lifts.

import type { CatalogRow } from './command.ts'

export const work: CatalogRow[] = [
  {
    name: 'runs',
    alias: 'run',
    text: 'give an agent a contract, see its status, take its result: start, status, stop, payload',
    isGroup: true,
    load: async () => (await import('./commands/runs/runs.ts')).runs,
  },
  {
    name: 'diff',
    args: '<name>',
    text: 'what a worker has changed in its worktree',
    load: async () => (await import('./commands/workers/worktrees.ts')).diff,
  },
  {
    name: 'merge',
    args: '<name>',
    text: "merge a worker's branch into this checkout",
    load: async () => (await import('./commands/workers/worktrees.ts')).merge,
  },
  {
    name: 'sweep',
    args: '[name]',
    text: 'remove the worktrees that workers left and that hold no work',
    load: async () => (await import('./commands/workers/worktrees.ts')).sweep,
  },
  {
    name: 'claims',
    alias: 'claim',
    text: 'list the files that agents are editing; claim and drop some by hand: add, drop',
    isGroup: true,
    load: async () => (await import('./commands/claims.ts')).claims,
  },
  {
    name: 'approvals',
    alias: 'approval',
    text: 'what agents may not do until a person says yes, for all CLIs in one list',
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'approve',
    args: '<id>',
    text: 'say yes to an approval; only a person at a terminal can, or an agent under a delegation',
    load: async () => (await import('./commands/approvals.ts')).approve,
  },
  {
    name: 'deny',
    args: '<id> [words...]',
    text: 'say no to an approval, with a few words for the agent',
    load: async () => (await import('./commands/approvals.ts')).deny,
  },
  {
    name: 'spend',
    text: 'the tokens that agents have used, and their cost where it is known: by agent, run, model or day',
    load: async () => (await import('./commands/spend.ts')).spend,
  },
  {
    name: 'actions',
    alias: 'action',
    text: 'list what programs offer, or invoke one',
    isGroup: true,
    load: async () => (await import('./commands/actions.ts')).actions,
  },
  {
    name: 'lift',
    text: 'several sessions with a role each, and a relay of their own: PM, Dev-A and Dev-B',
    load: async () => (await import('./commands/lift/lift.ts')).lift,
  },
]
