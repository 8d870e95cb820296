// Absence: for how long nobody has been there as an agent, or as any of those in a group or channel. Whoever would wait for them asks it. How one
// who is there is reached is decided in reach.ts.

import { isInUse } from '../../core/agents.ts'
import type { Store } from '../../store/store.ts'
import type { Elsewhere } from '../elsewhere.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { outOfReach } from './out-of-reach.ts'

/** An agent that was not there for so long does not answer soon. */
export const goneMs = 60_000
/** In a larger channel nobody is looked for: whoever asks there waits. */
const membersMax = 256

export interface Absence {
  /** All who are away; `ms` is for how long the last of them has been. */
  names: string[]
  ms: number
  /** It was not seen since the daemon started: how long before that is not known. */
  isAtLeast: boolean
}

/** The parts of a workspace that know who is there. */
interface Where {
  store: Store
  sessions: Sessions
  /** Undefined: nobody is there. */
  reach: { of(agent: string): string | undefined }
  elsewhere?: Elsewhere
}

/**
 * Undefined where somebody can be reached under this name or is expected at once, for names that are not of this workspace, and for people:
 * they come back when they like.
 */
export function absenceOf(where: Where, agent: string): Absence | undefined {
  const { store, sessions, reach, elsewhere } = where
  const { view } = store
  const type = view.agent(agent)?.type
  if (type === undefined || type === 'human' || reach.of(agent) !== undefined || elsewhere?.of(agent)) return undefined
  // Of a machine that is out of reach nothing is known: the agent may be there.
  if (outOfReach(where, agent)) return undefined
  // Its program has been asked for, and has not come so far yet.
  const run = view.runs.byAgent(agent)
  if (isInUse(view, sessions, agent) || (run !== undefined && run.endedAt === undefined)) return undefined
  return { names: [agent], ...sessions.unseen(agent) }
}

/** Of all whom a message goes to: undefined as soon as one of them is not away, and where it goes to nobody. */
export function absenceOfAll(where: Where, recipients: Iterable<string | undefined>): Absence | undefined {
  let all: Absence | undefined
  for (const name of recipients) {
    if (name === undefined) continue
    const one = absenceOf(where, name)
    if (!one || all?.names.length === membersMax) return undefined
    const names = [...(all?.names ?? []), name]
    all = all && all.ms <= one.ms ? { ...all, names } : { ...one, names }
  }
  return all
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const namesShown = 8

/** As the sender is told of it: `12 min`, `3 h`, `2 d`; and who, where they are several. */
export function absenceText({ names, ms, isAtLeast }: Absence): { away: string; all?: string; several?: true } {
  const [unitMs, unit] = ms < 2 * hourMs ? [minuteMs, 'min'] : ms < 2 * dayMs ? [hourMs, 'h'] : [dayMs, 'd']
  const time = `${Math.floor(ms / unitMs)} ${unit}`
  if (names.length === 1) return { away: `${isAtLeast ? 'more than ' : ''}${time}` }
  return { away: `${isAtLeast ? 'more than' : 'at least'} ${time}`, all: namesText(names), several: true }
}

/** `Ann, Bob and 3 more`. */
export function namesText(names: readonly string[]): string {
  const [shown, rest] = [names.slice(0, namesShown), names.length - namesShown]
  const last = rest > 0 ? `${rest} more` : shown.pop()
  return shown.length === 0 ? `${last}` : `${shown.join(', ')} and ${last}`
}
