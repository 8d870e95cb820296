// The part of the journal that the recorder shows: a window of events, the current position (the head), and the clock that moves the head while playing.

import type { RelayEvent } from '@agent-relay/sdk/internal/page'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { useCell } from '../store/cell.ts'
import { client, connection } from '../store/connection.ts'
import { lastSeq } from '../store/events.ts'
import { pageAddress, replaceAddress } from '../store/page-address.ts'
import { eventsAfter, eventsAt, eventsUpTo, type Filter } from '../store/recorder.ts'
import { openedRecording } from '../store/recording.ts'

const [windowBefore, windowAfter, windowMax] = [150, 150, 400]
/** The longest pause between two events while playing; longer pauses are cut to this. */
const gapMsMax = 2_000

/** A selected range of events by index; both ends are included. */
export type EventRange = readonly [first: number, last: number]

export interface EventWindow {
  events: readonly RelayEvent[]
  current: number
  isKnown: boolean
  isPlaying: boolean
  speed: number
  /** The selected range of the events by index: alone shown, played and stepped through. */
  stretch: EventRange | undefined
  /** Why events could not be loaded. */
  why: string | undefined
  setStretch(stretch: EventRange | undefined): void
  step(by: number): void
  choose(index: number): void
  jump(seq: number): void
  toggle(): void
  setSpeed(speed: number): void
}

interface Loaded {
  events: readonly RelayEvent[]
  current: number
  /** Whether the journal has more events after the window. */
  hasMore: boolean
  isKnown: boolean
}

export function useEventWindow(seq: number | undefined, filter: Filter): EventWindow {
  const [shown, setShown] = useState<Loaded>({ events: [], current: 0, hasMore: false, isKnown: false })
  const [why, setWhy] = useState<string>()
  const fail = useCallback((error: Error) => setWhy(error.message), [])
  const { agent, conversation, types } = filter
  const held = useRef(shown)
  held.current = shown
  const wanted = useMemo(() => ({ agent, conversation, types }), [agent, conversation, types])
  const asked = useRef(0)
  const file = useCell(openedRecording)
  const load = useCallback(
    async (seq: number | undefined) => {
      const turn = ++asked.current
      // `lastSeq`, the number of the last journal entry, is known once the client is connected.
      if (seq === undefined && !file) await client.connect()
      const around = seq ?? file?.events.at(-1)?.seq ?? lastSeq.value
      const loaded = await windowAround(around, seq, wanted)
      if (turn !== asked.current) return
      setShown(loaded)
      setWhy(undefined)
    },
    [wanted, file],
  )
  const loadedBy = useRef<typeof load>(undefined)
  // Follows the page's address. If the event is in the loaded window and the filter is the same, only the head moves; otherwise a new window is loaded.
  useEffect(() => {
    const { events, current } = held.current
    const at = events[current]?.seq === seq ? current : events.findIndex((event) => event.seq === seq)
    const isHere = loadedBy.current === load && at >= 0
    loadedBy.current = load
    if (!isHere) load(seq).catch(fail)
    else if (at !== current) setShown((before) => ({ ...before, current: at }))
  }, [seq, load, fail])
  const choose = useCallback(
    (index: number) => {
      const event = held.current.events[index]
      // Does nothing once the person has left the recorder: an event that is loaded late must not lead the person back there.
      if (!event || pageAddress.value.view !== 'recorder') return
      setShown((before) => ({ ...before, current: index }))
      replaceAddress('recorder', [event.seq], { agent, in: conversation, types })
    },
    [agent, conversation, types],
  )
  const move = useCallback(
    (by: number) => void moveHead(held.current, by, wanted, setShown, choose).catch(fail),
    [wanted, choose, fail],
  )
  const playback = usePlayback(shown, move, choose)
  return {
    ...shown,
    ...playback,
    why,
    choose,
    jump: (to) => replaceAddress('recorder', [to], { agent, in: conversation, types }),
  }
}

/** Loads the events before and after a journal number; the head stands on the event `seq`, or on the last event before the number if `seq` is unset. */
async function windowAround(around: number, seq: number | undefined, filter: Filter): Promise<Loaded> {
  const [upTo, after, named] = await Promise.all([
    eventsUpTo(around, filter, windowBefore),
    eventsAfter(around, filter, windowAfter),
    // The default filter leaves out many events; a link to a certain entry shows all its events.
    seq === undefined || filter.types !== '' ? [] : eventsAt(seq),
  ])
  const before = named.length === 0 ? upTo : [...upTo.filter((event) => event.seq !== seq), ...named]
  const exact = seq === undefined ? -1 : before.findIndex((event) => event.seq === seq)
  const current = Math.max(0, exact < 0 ? before.length - 1 : exact)
  return { events: [...before, ...after.events], current, hasMore: after.next !== undefined, isKnown: true }
}

/** Moves the head one event forward or back. At an edge of the window the next events are loaded, and events at the opposite edge dropped. */
async function moveHead(
  { events, current, hasMore }: Loaded,
  by: number,
  filter: Filter,
  setShown: (shown: Loaded) => void,
  choose: (index: number) => void,
): Promise<void> {
  const next = current + by
  if (next >= 0 && next < events.length) return choose(next)
  const edge = events[by > 0 ? events.length - 1 : 0]
  if (!edge || connection.value.phase !== 'up') return
  if (by > 0) {
    const more = await eventsAfter(edge.seq, filter, windowAfter)
    if (more.events.length === 0) return setShown({ events, current, hasMore: false, isKnown: true })
    const all = [...events, ...more.events].slice(-windowMax)
    setShown({
      events: all,
      current: all.indexOf(more.events[0] as RelayEvent),
      hasMore: more.next !== undefined,
      isKnown: true,
    })
  } else {
    const more = await eventsUpTo(edge.seq - 1, filter, windowBefore)
    if (more.length === 0) return
    setShown({ events: [...more, ...events].slice(0, windowMax), current: more.length - 1, hasMore, isKnown: true })
  }
}

/** The selected range, and stepping and playing within it. */
function usePlayback(loaded: Loaded, move: (by: number) => void, choose: (index: number) => void) {
  const { events, current } = loaded
  const [isPlaying, setPlaying] = useState(false)
  const [speed, setSpeed] = useState(1)
  const [stretch, setStretch] = useState<EventRange>()
  const [first, last] = stretch ?? []
  // The selected range is given as indexes of the events, so other events end the selection.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the events is the reason to run
  useEffect(() => setStretch(undefined), [events])
  const step = useCallback(
    (by: number) => {
      if (current !== (by > 0 ? last : first)) move(by)
    },
    [current, first, last, move],
  )
  const stop = useCallback(() => setPlaying(false), [])
  usePlaying({ isPlaying, speed, loaded, last, step, stop })
  const toggle = (): void => {
    if (first !== undefined && last !== undefined && !isPlaying && (current < first || current >= last)) choose(first)
    setPlaying(!isPlaying)
  }
  return { isPlaying, speed, stretch, setSpeed, setStretch, step, toggle }
}

interface Playing {
  isPlaying: boolean
  speed: number
  loaded: Loaded
  /** The last event to play, by index. Unset: the journal's last. */
  last: number | undefined
  step(by: number): void
  stop(): void
}

/** Plays the events: waits between two of them as long as there was between them, divided by the speed. */
function usePlaying({ isPlaying, speed, loaded: { events, current, hasMore }, last, step, stop }: Playing): void {
  useEffect(() => {
    if (!isPlaying) return
    const [now, next] = [events[current], events[current + 1]]
    if (current === last || (!next && !hasMore)) return stop()
    const gap = now && next ? Date.parse(next.ts) - Date.parse(now.ts) : 0
    const timer = setTimeout(() => step(1), Math.min(gapMsMax, gap / speed))
    return () => clearTimeout(timer)
  }, [isPlaying, speed, events, current, hasMore, last, step, stop])
}
