// Shows the facts of the journal as events: in pages, as a stream that skips none and never runs ahead of its reader, and as a glance, which shows a person the
// newest events a few times a second and counts the rest. core/facts/table.ts decides who sees which facts.

import { daemonName, type Entry, type Fact, limits, type OutputOf, type RelayEvent } from '@agent-relay/sdk/protocol'
import { factTypesForAudience, seesFact } from '../core/facts/table.ts'
import { toRefusal } from '../core/refusal-error.ts'
import { type Reader, seesAll } from '../core/sight.ts'
import { runAllSteps, type Steps } from '../core/steps.ts'
import { LoadMeter } from '../machine/event-loop.ts'
import type { EntryRange } from '../store/visible.ts'
import type { Watch, WatchItemSink, WorkspaceCore } from './call.ts'
import type { EntryHub } from './hub.ts'
import { ReadTimeBudget, type ReadTimeLimit } from './long-reads.ts'

/** Interval at which a glance (the live view for a person) shows new events: nobody reads faster. A single event is shown at once. */
const glanceMs = 100
/** Number of journal entries read at once in a walk through all of them. It is small, because one entry may hold a thousand facts. */
const entriesPerRead = 16
/** If a range has at most this many journal entries, all are read: that is quicker than finding by index those that concern the reader. */
const nearEntriesMax = 256
const factsPerStep = 64

/** Number of journal entries that a watch of events sends before other reads get their turn, or before it pauses. */
const entriesPerPage = 200
/** While the daemon is busy, a watch of events pauses this many times as long as its last page took, so that it costs senders only a few percent. */
const restFactor = 15
/** The longest pause of a watch of events: its last page may have taken long because the processor was busy with other programs. */
const restMsMax = 250
/** Time without a commit after which a watch that lags behind no longer pauses between pages. */
const noCommitMs = 50

/** The types of facts by audience (who may see them). Messages are left out, since they are found by their conversations. */
const factTypes = {
  everyone: factTypesForAudience('everyone'),
  agents: factTypesForAudience('agents'),
  readers: factTypesForAudience('readers').filter((type) => type !== 'message.created'),
}

/** The types of events that are made from another machine's report of deliveries (the fact `deliveries.noted`). */
const notedTypes = ['delivery.offered', 'delivery.read']

/** The progress of a watch. `walk` is its search of the journal up to entry `to`, which goes on as soon as the sink takes more. */
interface WatchProgress {
  position: number
  to?: number
  walk?: Generator<Entry | undefined, undefined, void>
}

export interface EventQuery {
  /** The number of a journal entry: asks for the events of later entries, oldest first. Unset if the newest events are wanted. */
  since?: number
  before?: number
  types?: string[]
  limit: number
}

export class Events {
  readonly #parts: Pick<WorkspaceCore, 'store' | 'hub' | 'reads'>
  readonly #load = new LoadMeter()

  constructor(parts: Pick<WorkspaceCore, 'store' | 'hub' | 'reads'>) {
    this.#parts = parts
  }

  /** Returns a page of events, bounded in bytes. The page ends between journal entries, never inside one; `next` continues it without a gap or a repeat. */
  *list(
    reader: Reader,
    { since, before, types, limit }: EventQuery,
    pace: ReadTimeLimit,
  ): Steps<OutputOf<'event.list'>> {
    const last = this.#parts.store.journal.lastSeq
    const isUpward = since !== undefined
    const range = { after: since ?? 0, to: before === undefined ? last : Math.min(last, before - 1), isUpward }
    const pages: RelayEvent[][] = []
    let [count, bytes, reached] = [0, 0, isUpward ? range.after : range.to + 1]
    let isWhole = true
    for (const entry of this.#relevantEntries(reader, range, types)) {
      yield
      if (!entry) continue
      const seen = yield* this.#visibleEvents(entry, reader, types)
      for (const { message } of seen) bytes += message ? Buffer.byteLength(message.body) : 0
      isWhole = !(count > 0 && bytes > limits.pageBytesMax)
      if (!isWhole) break
      if (seen.length > 0) pages.push(seen)
      count += seen.length
      reached = entry.seq
      // Reads at least one entry before it looks at the limits, so that every page makes progress.
      isWhole = count < limit && !pace.isSpent
      if (!isWhole) break
    }
    const next = !isUpward || isWhole ? Math.max(range.to, range.after) : reached
    const isMore = next < this.#parts.store.journal.lastSeq
    const through = this.#parts.store.pruning.through
    const pruned = (isUpward ? range.after : reached - 1) < through ? { pruned: through } : {}
    if (isUpward) return { events: pages.flat(), next, more: isMore, ...pruned }
    const earlier = isWhole || reached <= 1 ? {} : { earlier: reached }
    return { events: pages.reverse().flat(), next, more: isMore, ...earlier, ...pruned }
  }

  /** Streams events as fast as the sink takes them. For a slow reader only a position in the journal is kept, not a queue. */
  follow(reader: Reader, since: number, types: string[] | undefined, sink: WatchItemSink): Watch {
    const stopped = new AbortController()
    const progress = { position: since }
    let isReading = false
    let toldAt = Number.NEGATIVE_INFINITY
    let restUntil = 0
    const read = () => {
      const budget = new ReadTimeBudget()
      this.#parts.reads.run(this.#catchUp(reader, progress, types, sink), budget, stopped.signal).then(
        () => {
          restUntil = performance.now() + Math.min(restMsMax, budget.spentMs * restFactor)
          isReading = false
          // If the sink takes no more now, it later calls `drained`, which plans the next page.
          if (sink.isReady()) plan()
        },
        (error) => {
          if (stopped.signal.aborted) return
          // Ends only this reader's watch: an error such as a damaged file affects nobody else in the daemon.
          halt()
          sink.end(toRefusal(error))
        },
      )
    }
    // The watch catches up in steps and shares its time with every other read. While much is being committed it pauses between pages, and each page takes
    // everything that has come meanwhile: such a page costs little more than a single event.
    const plan = () => {
      if (isReading || stopped.signal.aborted || progress.position >= this.#parts.store.journal.lastSeq) return
      isReading = true
      const now = performance.now()
      const mayRest = now < restUntil && now - toldAt < noCommitMs && this.#load.isHigh(now)
      if (mayRest) setTimeout(read, restUntil - now)
      else read()
    }
    // If no new entry has a fact of a wanted type, only the position moves: most commits concern few watchers, and reading them again would cost time.
    const stop = this.#parts.hub.listen((entries) => {
      const isNext = progress.position + 1 === entries[0]?.seq && !isReading
      const isWanted = ({ facts }: Entry) => facts.some((fact) => canShowAs(fact, types))
      toldAt = performance.now()
      if (isNext && !entries.some(isWanted)) progress.position = entries[entries.length - 1]?.seq as number
      else plan()
    })
    const halt = () => {
      stop()
      stopped.abort()
    }
    plan()
    return { seq: since, drained: plan, stop: halt }
  }

  /** Sends the newest events for a screen, and the number of those that were left out. */
  glance(reader: Reader, since: number, types: string[] | undefined, newest: number, sink: WatchItemSink): Watch {
    const { journal } = this.#parts.store
    // Leaves out entries without a number, which hold deliveries that this machine decided by itself. They are shown when the entry that reports them to other
    // machines has a number.
    const isWanted = ({ seq, facts }: Entry) => seq > 0 && facts.some((fact) => canShowAs(fact, types))
    const missed = journal.read(Math.max(since, journal.lastSeq - newest), newest)
    const earlier = { since, count: journal.lastSeq - since - missed.length, entries: missed.filter(isWanted) }
    const show = (entry: Entry) => runAllSteps(this.#visibleEvents(entry, reader, types))
    return glance({ hub: this.#parts.hub, earlier, isWanted, show, newest, sink })
  }

  /** Sends one page of events. The page ends when the sink takes no more, or at the end of the journal. */
  *#catchUp(reader: Reader, progress: WatchProgress, types: string[] | undefined, sink: WatchItemSink): Steps<void> {
    progress.to ??= this.#parts.store.journal.lastSeq
    progress.walk ??= this.#relevantEntries(
      reader,
      { after: progress.position, to: progress.to, isUpward: true },
      types,
    )
    for (let shown = 0; shown < entriesPerPage && sink.isReady(); shown++) {
      const { done, value: entry } = progress.walk.next()
      if (done) {
        progress.position = progress.to
        progress.walk = progress.to = undefined
        return
      }
      if (entry) {
        for (const event of yield* this.#visibleEvents(entry, reader, types)) sink.item(event)
        progress.position = entry.seq
      }
      yield
    }
  }

  /** Yields the journal entries that may hold something for the reader, in order, and undefined where the walk may pause. */
  *#relevantEntries(
    reader: Reader,
    range: EntryRange,
    types: string[] | undefined,
  ): Generator<Entry | undefined, undefined, void> {
    const { journal, visible } = this.#parts.store
    const isAll = seesAll(reader)
    if ((isAll && !types) || range.to - range.after <= nearEntriesMax) return yield* this.#allEntries(range)
    const isAnyOf = (facts: readonly string[]) => facts.some((type) => isWantedType(types, type))
    const kinds = {
      messages: isWantedType(types, 'message.created'),
      everyone: isAnyOf(factTypes.everyone),
      own: isAnyOf(factTypes.agents),
      conversations: isAnyOf(factTypes.readers),
    }
    const numbers =
      isAll && types
        ? journal.entryNumbersHolding(storedTypesOf(types), range)
        : visible.entries(reader.agent, range, kinds)
    for (const seq of numbers) yield seq === undefined ? undefined : journal.entryAt(seq)
  }

  *#allEntries({ after, to, isUpward }: EntryRange): Generator<Entry | undefined, undefined, void> {
    const { journal } = this.#parts.store
    for (let [low, high] = [after, to]; low < high; ) {
      const from = isUpward ? low : Math.max(low, high - entriesPerRead)
      const entries = journal.read(from, Math.min(entriesPerRead, high - from))
      yield* isUpward ? entries : entries.reverse()
      if (isUpward) low = from + entriesPerRead
      else high = from
      yield undefined
    }
  }

  *#visibleEvents(entry: Entry, reader: Reader, types: string[] | undefined): Steps<RelayEvent[]> {
    const events: RelayEvent[] = []
    for (const [at, { fact, by = entry.by }] of entry.facts.flatMap(eventsOf).entries()) {
      if (at % factsPerStep === factsPerStep - 1) yield
      if (!isWantedType(types, fact.type) || !seesFact(this.#parts.store.view, reader, fact)) continue
      const message = fact.type === 'message.created' ? this.#parts.store.queries.message(fact.id) : undefined
      const ts = new Date(entry.at).toISOString()
      events.push({
        seq: entry.seq,
        ts,
        by,
        type: fact.type,
        fact: withoutSecrets(fact),
        ...(message ? { message } : {}),
      } as RelayEvent)
    }
    return events
  }
}

function isWantedType(types: string[] | undefined, type: string): boolean {
  return types === undefined || types.some((pattern) => matchesPattern(pattern, type))
}

/**
 * Returns the events of a fact. A machine's report of deliveries becomes one event for each delivery, any other fact is one event. `by` is set if it is not the
 * entry's writer.
 */
function eventsOf(fact: Fact): { fact: Fact; by?: string }[] {
  if (fact.type !== 'deliveries.noted') return [{ fact }]
  const { agent: by } = fact
  return fact.receipts.flatMap(({ message, route, readAt }) => [
    ...(route === undefined ? [] : [{ fact: { type: 'delivery.offered' as const, message, agent: by, route }, by }]),
    ...(readAt === undefined ? [] : [{ fact: { type: 'delivery.read' as const, message, agent: by }, by }]),
  ])
}

/** Whether the fact can be shown as one of these types. */
function canShowAs({ type }: Fact, types: string[] | undefined): boolean {
  return type === 'deliveries.noted'
    ? notedTypes.some((shown) => isWantedType(types, shown))
    : isWantedType(types, type)
}

function storedTypesOf(types: string[]): string[] {
  return notedTypes.some((shown) => isWantedType(types, shown)) ? [...types, 'deliveries.noted'] : types
}

/** Whether a type fits a pattern: `action.*` names a family, `*` all types. */
function matchesPattern(pattern: string, type: string): boolean {
  return pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
}

function withoutSecrets(fact: Fact): Record<string, unknown> {
  const { type: _, ...rest } = fact
  if (fact.type === 'workspace.key-issued') return {}
  return fact.type === 'agent.token-issued' ? { agent: fact.agent } : { ...rest }
}

interface GlanceOptions {
  hub: EntryHub
  /** The newest journal entries since the watcher last looked, and the number of older ones that were left out. */
  earlier: { since: number; count: number; entries: Entry[] }
  newest: number
  sink: WatchItemSink
  isWanted(entry: Entry): boolean
  show(entry: Entry): RelayEvent[]
}

function glance({ hub, earlier, newest, sink, isWanted, show }: GlanceOptions): Watch {
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
    // Waits until the watcher's terminal takes more and the sink calls `drained`. Until then events are only collected and counted.
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
      // Ends only this reader's watch: an error such as a damaged file affects nobody else in the daemon.
      halt()
      sink.end(toRefusal(error))
    }
  }
  const plan = () => {
    if (timer || (waiting.length === 0 && skipped.count === 0)) return
    timer = setTimeout(draw, Math.max(0, lookedAt + glanceMs - performance.now()))
  }
  const stop = hub.listen((entries) => {
    for (const entry of entries) if (isWanted(entry)) waiting.push(entry)
    // Trims only at twice the size: moving a few references at every commit would cost more than keeping them.
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

/** Makes the event that tells how many events were left out. It is no fact and not in the journal; `agent-relay events --since` shows the missing events. */
function skippedEvent({ since, count, last }: { since: number; count: number; last: number }): RelayEvent {
  const ts = new Date().toISOString()
  return { seq: last, ts, by: daemonName, type: 'events.skipped', fact: { count, since } }
}
