// The messages of one conversation by number: loaded when the person looks at them, and kept up to date by events.

import type { EventOf, HistoryMessage, OutputOf, RelayEvent } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'

const pageSize = 100
/** The most pages of messages kept in memory; the pages looked at longest ago are dropped first. */
const keptPagesMax = 60
/** The most events kept while pages are loading: a loaded page may be older than events that came meanwhile. */
const newsMax = 500

export class History {
  readonly name: string
  /** A change counter: views that watch it are drawn again. */
  readonly version = new Cell(0)
  last = 0
  isKnown = false
  #why: string | undefined
  readonly #messages = new Map<number, HistoryMessage>()
  readonly #places = new Map<string, number>()
  readonly #pages = new Map<number, 'loading' | 'there'>()
  #news: RelayEvent[] = []

  constructor(name: string) {
    this.name = name
  }

  get why(): string | undefined {
    return this.#why
  }

  at(n: number): HistoryMessage | undefined {
    return this.#messages.get(n)
  }

  byId(id: string): HistoryMessage | undefined {
    const n = this.#places.get(id)
    return n === undefined ? undefined : this.#messages.get(n)
  }

  /** Loads the newest page. Called again after the connection was lost, because events may have been missed. */
  async open(): Promise<void> {
    try {
      this.#put(await client.call('message.list', { conversation: this.name, limit: pageSize }))
      this.#why = undefined
    } catch (error) {
      this.#why = (error as Error).message
    }
    this.isKnown = true
    this.#changed()
  }

  /** Loads those messages from number `low` to `high` that are missing. */
  ensure(low: number, high: number): void {
    const [first, final] = [
      Math.floor((Math.max(1, low) - 1) / pageSize),
      Math.floor((Math.max(1, high) - 1) / pageSize),
    ]
    for (let page = first; page <= final; page++) {
      const state = this.#pages.get(page)
      if (state === 'there') {
        this.#pages.delete(page)
        this.#pages.set(page, 'there')
      } else if (state === undefined && !this.#isWhole(page)) void this.#load(page)
    }
  }

  /** Finds the number of a message anywhere in this conversation, and loads the messages around it. */
  async find(id: string): Promise<number | undefined> {
    const known = this.#places.get(id)
    if (known !== undefined) return known
    const answer = await client.call('message.list', { around: id, limit: pageSize }).catch(() => undefined)
    if (answer?.conversation !== this.name) return undefined
    this.#put(answer)
    this.#changed()
    return this.#places.get(id)
  }

  take(events: readonly RelayEvent[]): void {
    let isChanged = false
    for (const event of events) {
      if (!this.#concerns(event)) continue
      this.#news.push(event)
      isChanged = this.#apply(event) || isChanged
    }
    if (this.#news.length > newsMax) this.#news = this.#news.slice(-newsMax)
    if (isChanged) this.#changed()
  }

  #concerns({ type, fact }: RelayEvent): boolean {
    if (type === 'message.created') return fact.conversation === this.name
    return type.startsWith('delivery.') || type.startsWith('reaction.')
  }

  #isWhole(page: number): boolean {
    for (let n = page * pageSize + 1; n <= Math.min((page + 1) * pageSize, this.last); n++)
      if (!this.#messages.has(n)) return false
    return true
  }

  async #load(page: number): Promise<void> {
    this.#pages.set(page, 'loading')
    const [low, high] = [page * pageSize, (page + 1) * pageSize]
    try {
      // The daemon answers a page of long messages in several parts.
      for (let after = low; after < high; ) {
        const answer = await client.call('message.list', {
          conversation: this.name,
          after,
          before: high + 1,
          limit: pageSize,
        })
        this.#put(answer)
        const last = answer.messages.at(-1)?.n
        if (last === undefined || last >= Math.min(high, this.last)) break
        after = last
      }
      this.#pages.set(page, 'there')
    } catch {
      this.#pages.delete(page)
    }
    this.#forget()
    this.#changed()
  }

  #put({ last, seq, messages }: OutputOf<'message.list'>): void {
    this.last = Math.max(this.last, last)
    for (const message of messages) {
      this.#messages.set(message.n, message)
      this.#places.set(message.id, message.n)
    }
    for (const event of this.#news) if (event.seq > seq) this.#apply(event)
  }

  #apply(event: RelayEvent): boolean {
    switch (event.type) {
      case 'message.created':
        return this.#add(event.message, event.fact.n)
      case 'delivery.offered':
      case 'delivery.read':
      case 'reaction.added':
      case 'reaction.removed':
        return this.#note(event)
      default:
        return false
    }
  }

  #note(event: EventOf<'delivery.offered' | 'delivery.read' | 'reaction.*'>): boolean {
    const known = this.byId(event.fact.message)
    if (!known) return false
    this.#messages.set(known.n, noted(known, event))
    return true
  }

  #add(message: Omit<HistoryMessage, 'n' | 'offered' | 'read'>, n: number): boolean {
    this.last = Math.max(this.last, n)
    if (this.#messages.has(n)) return true
    const isMine = message.from === connection.value.agent
    const isMember = !this.name.startsWith('@') || this.name.slice(1).split(',').includes(connection.value.agent)
    const receipt = isMine || !isMember ? undefined : ('stored' as const)
    this.#messages.set(n, { ...message, n, offered: 0, read: 0, receipt })
    this.#places.set(message.id, n)
    // A page that new messages have filled up counts as loaded, so it can be dropped like any other page.
    const page = Math.floor((n - 1) / pageSize)
    if (n % pageSize === 0 && this.#isWhole(page)) {
      this.#pages.set(page, 'there')
      this.#forget()
    }
    return true
  }

  #forget(): void {
    for (const [page, state] of this.#pages) {
      if (this.#pages.size <= keptPagesMax) return
      if (state !== 'there') continue
      this.#pages.delete(page)
      for (let n = page * pageSize + 1; n <= (page + 1) * pageSize; n++) {
        const message = this.#messages.get(n)
        if (message) this.#places.delete(message.id)
        this.#messages.delete(n)
      }
    }
  }

  #changed(): void {
    this.version.update((count) => count + 1)
  }
}

function noted(
  known: HistoryMessage,
  { type, fact }: EventOf<'delivery.offered' | 'delivery.read' | 'reaction.*'>,
): HistoryMessage {
  const isMine = fact.agent === connection.value.agent
  switch (type) {
    case 'delivery.offered': {
      const receipt = isMine && known.receipt === 'stored' ? 'offered' : known.receipt
      return { ...known, offered: Math.max(1, known.offered), receipt }
    }
    case 'delivery.read':
      return { ...known, read: known.read + 1, receipt: isMine ? 'read' : known.receipt }
    default:
      return react(known, fact.emoji, fact.agent, type === 'reaction.added')
  }
}

function react(message: HistoryMessage, emoji: string, agent: string, isAdded: boolean): HistoryMessage {
  const reactions = (message.reactions ?? []).map((each) =>
    each.emoji === emoji ? { emoji, agents: each.agents.filter((name) => name !== agent) } : each,
  )
  const place = reactions.find((each) => each.emoji === emoji)
  if (isAdded && place) place.agents.push(agent)
  else if (isAdded) reactions.push({ emoji, agents: [agent] })
  return { ...message, reactions: reactions.filter(({ agents }) => agents.length > 0) }
}

const opened = new Map<string, History>()
const historiesMax = 12

export function historyOf(name: string): History {
  const known = opened.get(name)
  if (known) {
    opened.delete(name)
    opened.set(name, known)
    return known
  }
  const history = new History(name)
  opened.set(name, history)
  if (opened.size > historiesMax) opened.delete(opened.keys().next().value as string)
  void history.open()
  return history
}

export function followHistories(): void {
  onEvents((events) => {
    for (const history of opened.values()) history.take(events)
  })
}
