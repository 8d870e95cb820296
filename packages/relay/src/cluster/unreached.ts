// The refusals that callers get while the cluster does not do what it is asked: `cluster.unreachable` if trying again later may help, `cluster.unusable` if
// somebody has to act first.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { ClusterUnreachable } from './cluster-journal.ts'

/** Whether a refusal is `cluster.unreachable` or `cluster.unusable`. */
export function isUnreachedRefusal({ code }: Refusal): boolean {
  return code === 'cluster.unreachable' || code === 'cluster.unusable'
}

export function unreachedRefusal(
  { fault }: ClusterUnreachable,
  details: { workspace?: string; place?: string; lastHeard?: string },
): Refusal {
  return refusal(fault.isLasting ? 'cluster.unusable' : 'cluster.unreachable', { ...details, why: fault.text })
}
