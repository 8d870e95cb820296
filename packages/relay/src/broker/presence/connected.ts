// Lists the agents that are connected on this machine, and makes events when they connect and leave. These events are not in the journal: a watch reports each
// agent's latest state, and a slow reader misses the states in between.

import { daemonName, type EventOf } from '@agent-relay/sdk/protocol'
import type { Watch, WatchItemSink } from '../call.ts'
import type { Sessions } from '../sessions/sessions.ts'

const sessionEvent = 'session.event'

/** Lists the connected agents, without the daemon's own session in each workspace. */
export function connectedNames(sessions: Sessions): string[] {
  const names = new Set(sessions.all().map(({ agent }) => agent ?? daemonName))
  names.delete(daemonName)
  return [...names]
}

/**
 * Whether a watch asks for events of sessions (agents that connect and leave). It must name their type: a watch of all types gets only events of the journal.
 */
export function wantsSessionEvents(types: readonly string[] | undefined): boolean {
  return types?.some((type) => type === sessionEvent || type === 'session.*') ?? false
}

/** Adds events of sessions to a watch of the journal, which `follow` starts with the sink that it is given. Both watches end together. */
export function withSessionEvents(
  sessions: Sessions,
  now: () => number,
  sink: WatchItemSink,
  follow: (sink: WatchItemSink) => Watch,
): Watch {
  const beside = followSessions(sessions, now, sink)
  const watch = follow({
    isReady: () => sink.isReady(),
    item: (item) => sink.item(item),
    end: (refusal) => {
      beside.stop()
      sink.end(refusal)
    },
  })
  const both = (what: 'drained' | 'stop') => () => {
    watch[what]()
    beside[what]()
  }
  return { seq: watch.seq, drained: both('drained'), stop: both('stop') }
}

function followSessions(sessions: Sessions, now: () => number, sink: WatchItemSink): Pick<Watch, 'drained' | 'stop'> {
  const told = new Set(connectedNames(sessions))
  const changed = new Set<string>()
  let isStopped = false
  const tell = () => {
    for (const agent of changed) {
      if (isStopped || !sink.isReady()) return
      changed.delete(agent)
      const isHere = sessions.isLive(agent)
      if (isHere === told.has(agent)) continue
      if (isHere) told.add(agent)
      else told.delete(agent)
      sink.item(eventOf(agent, isHere, now()))
    }
  }
  const unlisten = sessions.onChange((agent) => {
    if (agent === daemonName) return
    // Sends the event after the current call, which is still binding or ending the session.
    if (changed.size === 0) queueMicrotask(tell)
    changed.add(agent)
  })
  const stop = () => {
    isStopped = true
    unlisten()
  }
  return { drained: tell, stop }
}

function eventOf(agent: string, isHere: boolean, at: number): EventOf<typeof sessionEvent> {
  const state = isHere ? 'connected' : 'away'
  return { seq: 0, ts: new Date(at).toISOString(), by: agent, type: sessionEvent, fact: { agent, state } }
}
