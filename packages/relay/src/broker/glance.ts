// A watch for a person's eyes: the newest events a few times a second, and how many were left out. Those are not read at all.

import { daemonName, type Entry, type RelayEvent } from '@agent-relay/sdk/protocol'
import { refusalOf } from '../core/refusal-error.ts'
import type { Sink, Watch } from './call.ts'
import type { Hub } from './hub.ts'

/** Faster than anybody reads. A single event is shown at once. */
const glanceMs = 100

export interface GlanceOptions {
  hub: Hub
  /** The newest entries since the watcher last looked, and how many were left out. */
  earlier: { since: number; count: number; entries: Entry[] }
  newest: number
  sink: Sink
  isWanted(entry: Entry): boolean
  show(entry: Entry): RelayEvent[]
}

export function glance({ hub, earlier, newest, sink, isWanted, show }: GlanceOptions): Watch {
  let waiting = earlier.entries
  let skipped = { since: earlier.since, count: earlier.count, last: earlier.since + earlier.count }
  let lookedAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  const trim = () => {
    const gone = waiting.splice(0, Math.max(0, waiting.length - newest))
    const [first, last] = [gone[0], gone.at(-1)]
    if (!first || !last) return
    const since = skipped.count > 0 ? skipped.since : first.seq - 1
    skipped = { since, count: skipped.count + gone.length, last: last.seq }
  }
  const draw = () => {
    timer = undefined
    // The terminal takes nothing now. It calls `drained` when it does; until then only the count grows.
    if (!sink.isReady()) return
    lookedAt = performance.now()
    trim()
    const entries = waiting
    waiting = []
    try {
      if (skipped.count > 0) sink.item(skippedEvent(skipped))
      skipped = { ...skipped, count: 0 }
      for (const entry of entries) for (const event of show(entry)) sink.item(event)
    } catch (error) {
      // A damaged file, for example. Only this reader is affected, nobody else in the daemon.
      halt()
      sink.end(refusalOf(error))
    }
  }
  const plan = () => {
    if (timer || (waiting.length === 0 && skipped.count === 0)) return
    timer = setTimeout(draw, Math.max(0, lookedAt + glanceMs - performance.now()))
  }
  const stop = hub.listen((entries) => {
    for (const entry of entries) if (isWanted(entry)) waiting.push(entry)
    // Not at every commit: moving a few references costs more than keeping twice as many.
    if (waiting.length > 2 * newest) trim()
    plan()
  })
  const halt = () => {
    clearTimeout(timer)
    stop()
  }
  plan()
  return { seq: earlier.since, drained: plan, stop: halt }
}

/** This is not a fact and not in the journal. `agent-relay events --since` shows what was left out. */
function skippedEvent({ since, count, last }: { since: number; count: number; last: number }): RelayEvent {
  const ts = new Date().toISOString()
  return { seq: last, ts, by: daemonName, type: 'events.skipped', fact: { count, since } }
}
