// The refusals while the cluster does not do what is asked. Either asking again later helps, or somebody has to act at the cluster first.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { ClusterUnreachable } from './cluster-journal.ts'

/** Whether a refusal says that the cluster does not do what is asked. */
export function isUnreachedRefusal({ code }: Refusal): boolean {
  return code === 'cluster.unreachable' || code === 'cluster.unusable'
}

export function unreachedRefusal(
  { fault }: ClusterUnreachable,
  details: { workspace?: string; place?: string; lastHeard?: string },
): Refusal {
  return refusal(fault.isLasting ? 'cluster.unusable' : 'cluster.unreachable', { ...details, why: fault.text })
}
