// The refusals about workers and their git worktrees.

import { lastScreenText, splitReason } from '../../internal/printed.ts'
import { type RefusalDetails, suggestionText } from './fixes.ts'
import { busyKind, conflictKind, deniedKind, notFoundKind, usageKind } from './kinds.ts'

export const workerRefusals = {
  'worker.unknown': {
    ...notFoundKind,
    text: (d: RefusalDetails) => `No worker is named "${d.name}".${suggestionText(d.nearest, 'Did you mean')}`,
  },
  'worker.exists': { ...conflictKind, text: (d: RefusalDetails) => `A worker named "${d.name}" is running.` },
  'worker.running': { ...conflictKind, text: (d: RefusalDetails) => `Worker "${d.name}" is still running.` },
  'worker.of-run': {
    ...conflictKind,
    text: (d: RefusalDetails) => `Worker "${d.name}" has no task of its own to repeat: it worked for the run ${d.run}.`,
  },
  'worker.no-task': {
    ...conflictKind,
    text: (d: RefusalDetails) => `There is no task to give worker "${d.name}" again: ${d.why}.`,
  },
  'worker.no-conversation': {
    ...conflictKind,
    text: (d: RefusalDetails) => `Worker "${d.name}" cannot go on with its conversation: ${d.why}.`,
  },
  'worker.elsewhere': {
    ...conflictKind,
    text: (d: RefusalDetails) =>
      `Worker "${d.name}" ran on ${d.machine}. Give it its task again there, or hire another one here.`,
  },
  'worker.runs-elsewhere': {
    ...deniedKind,
    text: (d: RefusalDetails) => `Worker "${d.name}" runs on ${d.machine}, and only from there can you ${d.what}.`,
  },
  'worker.exited': {
    ...conflictKind,
    text: (d: RefusalDetails) => {
      const { why, printed } = splitReason(d.reason as string | undefined)
      return `Worker "${d.name}" has exited${why || '.'}${printed}`
    },
  },
  'worker.no-turn': {
    ...conflictKind,
    text: (d: RefusalDetails) => `Worker "${d.name}" is not in a turn: ${d.why}.`,
  },
  'worker.no-interrupt': {
    ...usageKind,
    http: 501,
    text: (d: RefusalDetails) => `The relay knows no way to interrupt worker "${d.name}" (${d.cli}).`,
  },
  'worker.died': {
    retry: false,
    http: 502,
    exit: 1,
    text: (d: RefusalDetails) => {
      const { why, printed } = splitReason(d.reason as string | undefined)
      return `${d.name} ended at once${why}${printed}${lastScreenText(d.screen as string | undefined)}`
    },
  },
  'worker.not-yours': {
    ...deniedKind,
    text: (d: RefusalDetails) => `Worker "${d.name}" works for ${d.parent}: only its parent and people may ${d.what}.`,
  },
  'worker.screen-hidden': {
    ...deniedKind,
    text: (d: RefusalDetails) =>
      `The screen of worker "${d.name}" may be seen by ${d.parent}, who hired it, by people, and by agents that the policy names.`,
  },
  'worker.too-many': {
    ...busyKind,
    text: (d: RefusalDetails) => `${d.count} workers are running, which is the maximum.`,
  },
  'worker.unavailable': { ...usageKind, http: 501, text: () => 'This relay starts no workers.' },
  'worktree.none': {
    ...usageKind,
    text: (d: RefusalDetails) => `There can be no worktree for ${d.directory}: ${d.why}.`,
  },
  'worktree.unknown': {
    ...notFoundKind,
    text: (d: RefusalDetails) => {
      const why = d.isRestored
        ? ' The worker came with a backup, so nothing on this disk is read or removed for it.'
        : ''
      return `No worker "${d.name}" has a worktree.${why}`
    },
  },
  'worktree.elsewhere': {
    ...conflictKind,
    text: (d: RefusalDetails) => `The worktree of "${d.name}" is on ${d.machine ?? 'another machine'}. Ask there.`,
  },
  'worktree.person': { ...deniedKind, text: () => 'Only a person may discard the work of a worker. Ask one.' },
}
