// The events of the workspace: one watch for the whole page. A single event is passed to the listeners at once; many events are passed on together.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client } from './connection.ts'

type Listener = (events: readonly RelayEvent[]) => void

const listeners = new Set<Listener>()
let waiting: RelayEvent[] = []
let isPlanned = false
/** How often collected events are passed on: thirty times a second is more than an eye can follow, and nobody reads a hidden page. */
const [rushMs, hiddenMs] = [33, 250]
let flushedAt = 0

/** The number of the last journal entry that the page has seen. */
export const lastSeq = new Cell(0)

export function onEvents(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Keeps `lastSeq` up to date. Call this before connecting: the daemon's welcome carries the last number, and the first welcome comes only once. */
export function followLastSeq(): void {
  client.on('ready', ({ seq }) => lastSeq.set(Math.max(seq, lastSeq.value)))
}

export function followEvents(): void {
  client.watch({}, (event) => {
    waiting.push(event)
    plan()
  })
}

function plan(): void {
  if (isPlanned) return
  isPlanned = true
  setTimeout(flush, Math.max(0, flushedAt + (document.hidden ? hiddenMs : rushMs) - performance.now()))
}

function flush(): void {
  isPlanned = false
  flushedAt = performance.now()
  const events = waiting
  waiting = []
  const last = events.at(-1)
  if (!last) return
  lastSeq.set(Math.max(last.seq, lastSeq.value))
  for (const listener of [...listeners]) listener(events)
}
