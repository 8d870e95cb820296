// The refusal for whoever asks while the cluster does not do what is asked: to ask again later helps, or only once somebody has done something there.

import { type Refusal, refusal } from '@agent-relay/sdk/protocol'
import type { ClusterUnreachable } from './cluster-journal.ts'

/** A refusal that says so. */
export function isUnreachedRefusal({ code }: Refusal): boolean {
  return code === 'cluster.unreachable' || code === 'cluster.unusable'
}

export function unreachedRefusal(
  { fault }: ClusterUnreachable,
  details: { workspace?: string; place?: string; lastHeard?: string },
): Refusal {
  return refusal(fault.isLasting ? 'cluster.unusable' : 'cluster.unreachable', { ...details, why: fault.text })
}
