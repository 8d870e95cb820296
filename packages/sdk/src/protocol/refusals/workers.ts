// The refusals about workers and their git worktrees.

import { lastScreen, reasonTexts } from '../../internal/printed.ts'
import { oneOf, type RefusalDetails } from './fixes.ts'
import { absent, busy, clash, denied, usage } from './kinds.ts'

export const workerRefusals = {
  'worker.unknown': {
    ...absent,
    text: (d: RefusalDetails) => `No worker is named "${d.name}".${oneOf(d.nearest, 'Did you mean')}`,
  },
  'worker.exists': { ...clash, text: (d: RefusalDetails) => `A worker named "${d.name}" is running.` },
  'worker.running': { ...clash, text: (d: RefusalDetails) => `Worker "${d.name}" is still running.` },
  'worker.of-run': {
    ...clash,
    text: (d: RefusalDetails) => `Worker "${d.name}" carried out the run ${d.run}, and had its contract.`,
  },
  'worker.no-task': {
    ...clash,
    text: (d: RefusalDetails) => `There is no task to give worker "${d.name}" again: ${d.why}.`,
  },
  'worker.elsewhere': {
    ...clash,
    text: (d: RefusalDetails) =>
      `Worker "${d.name}" ran on ${d.machine}. Give it its task again there, or hire another one here.`,
  },
  'worker.runs-elsewhere': {
    ...denied,
    text: (d: RefusalDetails) => `Worker "${d.name}" runs on ${d.machine}, and only from there can you ${d.what}.`,
  },
  'worker.exited': {
    ...clash,
    text: (d: RefusalDetails) => {
      const { why, printed } = reasonTexts(d.reason as string | undefined)
      return `Worker "${d.name}" has exited${why || '.'}${printed}`
    },
  },
  'worker.died': {
    retry: false,
    http: 502,
    exit: 1,
    text: (d: RefusalDetails) => {
      const { why, printed } = reasonTexts(d.reason as string | undefined)
      return `${d.name} ended at once${why}${printed}${lastScreen(d.screen as string | undefined)}`
    },
  },
  'worker.not-yours': {
    ...denied,
    text: (d: RefusalDetails) => `Worker "${d.name}" works for ${d.parent}: only its parent and people may ${d.what}.`,
  },
  'worker.screen-hidden': {
    ...denied,
    text: (d: RefusalDetails) =>
      `The screen of worker "${d.name}" is for ${d.parent}, who hired it, people, and whom the policy names.`,
  },
  'worker.too-many': { ...busy, text: (d: RefusalDetails) => `${d.count} workers are running, which is the most.` },
  'worker.unavailable': { ...usage, http: 501, text: () => 'This relay starts no workers.' },
  'worktree.none': { ...usage, text: (d: RefusalDetails) => `There can be no worktree for ${d.directory}: ${d.why}.` },
  'worktree.unknown': {
    ...absent,
    text: (d: RefusalDetails) => {
      const why = d.isRestored ? ' It came with a backup: nothing on this disk is looked at or removed for it.' : ''
      return `No worker "${d.name}" has a worktree.${why}`
    },
  },
  'worktree.elsewhere': {
    ...clash,
    text: (d: RefusalDetails) => `The worktree of "${d.name}" is on ${d.machine ?? 'another machine'}. Ask there.`,
  },
  'worktree.person': { ...denied, text: () => 'Only a person discards the work of a worker. Ask one.' },
}
