// The refusals that callers get once this machine has stopped following a shared workspace, by reason.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { StopReason } from './cluster-journal.ts'
import type { HaltReason } from './replica.ts'

const codes = {
  fenced: 'machine.fenced',
  revoked: 'machine.revoked',
  diverged: 'cluster.diverged',
  newer: 'cluster.newer',
  removed: 'cluster.removed',
  forged: 'cluster.forged',
} as const

export function stopRefusal(
  { kind, ...rest }: StopReason | HaltReason,
  details: { workspace: string; known: number },
): Refusal {
  return refusal(codes[kind], { ...details, ...rest })
}

/** Whether a refusal says that this machine has stopped following the workspace. */
export function isStopRefusal({ code }: Refusal): boolean {
  return (Object.values(codes) as string[]).includes(code)
}

/** Whether the cluster's answer says that this machine cannot follow the workspace any further. */
export function isStopped(answer: { kind: string }): answer is StopReason {
  return answer.kind in codes
}
