// What is seen of an agent from outside, on whichever machine: its status as lists show it, and whether it is idle or away. How long it has been away
// is in absence.ts.

import type { Agent } from '@agent-relay/sdk/protocol'
import type { Seen } from '../../core/notices.ts'
import type { Store } from '../../store/store.ts'
import type { Elsewhere } from '../elsewhere.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Reach } from '../waking/reach.ts'
import type { Workers } from '../workers/workers.ts'
import { absenceOf, goneMs } from './absence.ts'
import { outOfReach } from './out-of-reach.ts'
import type { Waits } from './waits.ts'

interface Where {
  store: Store
  sessions: Sessions
  elsewhere?: Elsewhere
}

/** The parts of a workspace that know what its agents do. */
type Doers = Where & { waits: Waits; workers: Workers; reach: Reach }

/** One that has left may be back in a moment, as after a lost connection. */
const leftMs = 5_000

/** As its sessions on this machine say, or those on another one. */
export function statusOf(where: Where, name: string): Agent['status'] {
  const { sessions, elsewhere } = where
  const here = sessions.statusOf(name)
  if (here !== 'offline') return here
  return elsewhere?.of(name)?.status ?? (outOfReach(where, name) ? 'unreachable' : here)
}

/** idle: as lists show it, and it waits for nobody. away: for so long that it is not just coming back, also after a restart of the daemon. */
export function seenOf(where: Doers, name: string): Seen {
  const { store, sessions, waits, workers } = where
  const { view } = store
  const status = statusOf(where, name)
  if (status === 'offline') {
    const absence = view.agent(name)?.type === 'human' ? sessions.unseen(name) : absenceOf(where, name)
    return absence && absence.ms >= (absence.isAtLeast ? goneMs : leftMs) ? 'away' : undefined
  }
  if (status === 'unreachable' || view.approvals.of(name).length > 0 || waits.of(name)) return undefined
  const worker = workers.stateOf(name)?.status ?? 'ready'
  const state = worker === 'ready' ? (sessions.shown(name)?.doing?.state ?? status) : worker
  return state === 'idle' ? 'idle' : undefined
}
