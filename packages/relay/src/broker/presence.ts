// Who is connected, and who comes and goes, as it happens. Nothing of it is in the journal: a watch tells what has changed since it last told, and a reader who
// was slow learns how it is now, not how often it was otherwise.

import { daemonName, type EventOf } from '@agent-relay/sdk/protocol'
import type { Sink, Watch } from './call.ts'
import type { Sessions } from './sessions/sessions.ts'

const presenceType = 'session.event'

/** Without the daemon itself, which has a session in each workspace. */
export function connectedTo(sessions: Sessions): string[] {
  const names = new Set(sessions.all().map(({ agent }) => agent ?? daemonName))
  names.delete(daemonName)
  return [...names]
}

/** It has to be asked for: who follows everything follows the journal. */
export function asksForPresence(types: readonly string[] | undefined): boolean {
  return types?.some((type) => type === presenceType || type === 'session.*') ?? false
}

export function followPresence(sessions: Sessions, now: () => number, sink: Sink): Pick<Watch, 'drained' | 'stop'> {
  const told = new Set(connectedTo(sessions))
  const changed = new Set<string>()
  const tell = () => {
    for (const agent of changed) {
      if (!sink.isReady()) return
      changed.delete(agent)
      const isHere = sessions.isLive(agent)
      if (isHere === told.has(agent)) continue
      if (isHere) told.add(agent)
      else told.delete(agent)
      sink.item(eventOf(agent, isHere, now()))
    }
  }
  const stop = sessions.onChange((agent) => {
    if (agent === daemonName) return
    changed.add(agent)
    tell()
  })
  return { drained: tell, stop }
}

function eventOf(agent: string, isHere: boolean, at: number): EventOf<typeof presenceType> {
  const state = isHere ? 'connected' : 'away'
  return { seq: 0, ts: new Date(at).toISOString(), by: agent, type: presenceType, fact: { agent, state } }
}
