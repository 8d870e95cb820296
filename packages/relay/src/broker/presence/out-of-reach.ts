// Agents that a message does not get to now: at home on another machine that cannot be reached, or with a program that lets none in.

import type { NotReached, Unreachable } from '@agent-relay/sdk/protocol'
import { homeElsewhere } from '../../core/homes.ts'
import type { Store } from '../../store/store.ts'
import type { Elsewhere, OutOfReach } from '../elsewhere.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Where {
  store: Store
  sessions: Sessions
  elsewhere?: Elsewhere
}

/** The machine of the agent. Undefined where its sessions are known: they are here, or their machine says who is there. */
export function outOfReach({ store, sessions, elsewhere }: Where, agent: string): OutOfReach | undefined {
  if (!elsewhere || sessions.isLive(agent)) return undefined
  const home = homeElsewhere(store.view, sessions, agent)
  return home && elsewhere.outOfReach(home.machine)
}

/** As a caller is told of it: times as texts. */
export function unreachableAs(name: string, { machine, since }: OutOfReach): Unreachable {
  return { name, machine, ...(since === undefined ? {} : { since: new Date(since).toISOString() }) }
}

/** Of an agent that is there: why its program does not let messages in now. One that has our tools finds them at its next call. */
export function notReached({ sessions }: Pick<Where, 'sessions'>, name: string): NotReached[] {
  const { note: why, isOnlyWay } = sessions.shown(name) ?? {}
  return why === undefined || !isOnlyWay ? [] : [{ name, why }]
}
