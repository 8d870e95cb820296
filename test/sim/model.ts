// The model of the relay, written a second time and naively: every recipient has a plain list of the messages sent to it, each with a state.
// Written from the words of the design, not from the code under test; it shares no rule and no table with it.

export const holdMs = 600_000
export const holding = ['tool', 'take', 'deliver', 'wait']
const pageMessages = 50
const noticesOfAgent = 20

export interface Letter {
  /** Every body is said once in a run, so it names the message before its id is known. */
  body: string
  id?: string
  seq?: number
  from: string
  /** `#channel`, `*`, or the sorted names of a pair or group. */
  place: string
  kind: string
  thread?: string
  replyTo?: string
  at: number
}

export interface Item {
  letter: Letter
  state: 'stored' | 'offered' | 'read'
  route?: string
  session?: string
  until?: number
  offeredAt?: number
  readAt?: number
}

export interface Filter {
  from?: string
  channel?: string
  thread?: string
  limit?: number
  unreadOnly?: boolean
  before?: string
}

export interface SendInput {
  to: string | string[]
  body: string
  kind?: string
  thread?: string
  replyTo?: string
  create?: boolean
}

/** That an agent wants to be told of another one. Only answers ever come true: nobody here is idle, or away for long. */
export interface Notice {
  asker: string
  agent: string
  when: string
  /** How many letters there were. */
  after: number
}

export type Expected<T> = T | { refused: string }

export class Model {
  /** Each agent's items, in the order they were sent. */
  readonly agents = new Map<string, Item[]>()
  readonly channels = new Map<string, Set<string>>([['#general', new Set()]])
  readonly everIn = new Map<string, Set<string>>()
  readonly letters: Letter[] = []
  /** Session id to the agent it acts for. */
  readonly live = new Map<string, string>()
  /** What left with answers, by session. */
  readonly handed = new Map<string, Set<Letter>>()
  readonly reactions = new Set<string>()
  notices: Notice[] = []
  /** How often anything was changed. */
  changes = 0
  #at = 0

  /** The time of a command is the clock's, even where that is earlier than before. */
  stamp(now: number): void {
    this.#at = now
  }

  /** All that lives in memory is gone; what was stored is not. */
  crash(): void {
    this.live.clear()
    this.handed.clear()
  }

  isLive(agent: string): boolean {
    return [...this.live.values()].includes(agent)
  }

  // Agents and sessions

  /** `proven`: it showed its token. Else it is new, or comes back to a name that nobody uses, and gets a new token. */
  register(name: string, channels: string[], proven: boolean): void {
    if (!proven) this.#changed()
    if (!this.agents.has(name)) {
      this.agents.set(name, [])
      this.channels.get('#general')?.add(name)
    }
    for (const channel of channels) this.enter(name, channel)
  }

  /** Who a newcomer on the owner's socket becomes. */
  nameFor(wanted: string, proven: boolean, strict: boolean): Expected<{ name: string }> {
    if (proven || !this.isLive(wanted)) return { name: wanted }
    if (strict) return { refused: 'agent.name-taken' }
    for (let number = 2; ; number++) if (!this.isLive(`${wanted}-${number}`)) return { name: `${wanted}-${number}` }
  }

  open(session: string, agent: string): void {
    this.live.set(session, agent)
    this.handed.set(session, new Set())
  }

  vanish(session: string): void {
    this.live.delete(session)
    this.handed.delete(session)
  }

  // Channels

  enter(agent: string, channel: string): void {
    const members = this.channels.get(channel) ?? new Set()
    if (!members.has(agent)) this.#changed()
    this.channels.set(channel, members.add(agent))
    this.everIn.set(channel, (this.everIn.get(channel) ?? new Set()).add(agent))
  }

  create(agent: string, channel: string): Expected<{ channel: string }> {
    if (this.channels.has(channel)) return { refused: 'channel.exists' }
    this.enter(agent, channel)
    return { channel }
  }

  join(agent: string, channel: string, create: boolean): Expected<{ channel: string; created?: true }> {
    const isNew = !this.channels.has(channel)
    if (isNew && !create) return { refused: 'channel.unknown' }
    this.enter(agent, channel)
    return isNew ? { channel, created: true } : { channel }
  }

  /** As if it had never been: so only where nobody but the maker ever was, and nothing was ever said. */
  remove(agent: string, channel: string): Expected<{ channel: string }> {
    if (!this.channels.has(channel)) return { refused: 'channel.unknown' }
    if (channel === '#general') return { refused: 'channel.permanent' }
    const isUsed = this.letters.some(({ place }) => place === channel)
    if (isUsed || [...(this.everIn.get(channel) ?? [])].some((name) => name !== agent))
      return { refused: 'channel.in-use' }
    this.channels.delete(channel)
    this.everIn.delete(channel)
    this.#changed()
    return { channel }
  }

  leave(agent: string, channel: string): Expected<{ channel: string }> {
    const members = this.channels.get(channel)
    if (!members) return { refused: 'channel.unknown' }
    if (channel === '#general') return { refused: 'channel.permanent' }
    if (!members.delete(agent)) return { refused: 'channel.not-member' }
    this.#changed()
    return { channel }
  }

  // Messages

  send(
    from: string,
    { to, body, kind = 'free', thread, replyTo, create = false }: SendInput,
  ): Expected<{ letter: Letter; to: string | string[] }> {
    const reached = this.#resolve(from, to, create)
    if ('refused' in reached) return reached
    let place: Pick<Letter, 'thread' | 'replyTo'> = {}
    const named = replyTo ?? thread
    const parent = named === undefined ? undefined : this.byId(named)
    if (parent && this.canSee(from, parent)) place = { thread: parent.thread ?? parent.id, replyTo: parent.id }
    else if (replyTo !== undefined) return { refused: 'message.unknown' }
    else if (thread !== undefined) place = { thread }
    if (reached.place.startsWith('#')) this.enter(from, reached.place)
    this.#changed()
    const letter: Letter = { body, from, place: reached.place, kind, at: this.#at, ...place }
    this.letters.push(letter)
    // Exactly those who are there now, and never the sender.
    for (const name of reached.recipients) this.agents.get(name)?.push({ letter, state: 'stored' })
    return { letter, to: reached.to }
  }

  #resolve(
    from: string,
    to: string | string[],
    create: boolean,
  ): Expected<{ place: string; recipients: string[]; to: string | string[] }> {
    const others = (names: Iterable<string>) => [...new Set(names)].filter((name) => name !== from)
    if (to === '*') return { place: '*', recipients: others(this.agents.keys()), to }
    if (typeof to === 'string' && to.startsWith('#')) {
      const members = this.channels.get(to) ?? (create ? new Set<string>() : undefined)
      return members ? { place: to, recipients: others(members), to } : { refused: 'channel.unknown' }
    }
    const recipients = others(typeof to === 'string' ? [to] : to)
    if (recipients.length === 0) return { refused: 'message.to-self' }
    if (recipients.some((name) => !this.agents.has(name))) return { refused: 'agent.unknown' }
    const sorted = [...recipients].sort()
    return {
      place: [from, ...recipients].sort().join(),
      recipients,
      to: sorted.length === 1 ? (sorted[0] as string) : sorted,
    }
  }

  byId(id: string): Letter | undefined {
    return this.letters.find((letter) => letter.id === id)
  }

  item(agent: string, letter: Letter): Item | undefined {
    return this.agents.get(agent)?.find((item) => item.letter === letter)
  }

  canSee(agent: string, letter: Letter): boolean {
    return letter.from === agent || this.item(agent, letter) !== undefined
  }

  isHidden(agent: string, id: string | undefined): boolean {
    const letter = id === undefined ? undefined : this.byId(id)
    return id !== undefined && !(letter && this.canSee(agent, letter))
  }

  react(agent: string, id: string, emoji: string, remove: boolean): Expected<{ message: string }> {
    const letter = this.byId(id)
    if (!letter || !this.canSee(agent, letter)) return { refused: 'message.unknown' }
    const key = `${id} ${agent} ${emoji}`
    if (this.reactions.has(key) === remove) this.#changed()
    if (remove) this.reactions.delete(key)
    else this.reactions.add(key)
    return { message: id }
  }

  // Notices

  ask(asker: string, agent: string, when: string): Expected<Record<string, never>> {
    if (asker === agent) return { refused: 'notice.yourself' }
    if (!this.agents.has(agent)) return { refused: 'agent.unknown' }
    const own = this.notices.filter((notice) => notice.asker === asker)
    if (own.some((notice) => notice.agent === agent && notice.when === when)) return {}
    if (own.length >= noticesOfAgent) return { refused: 'notice.too-many-yours' }
    this.#changed()
    this.notices.push({ asker, agent, when, after: this.letters.length })
    return {}
  }

  drop(asker: string, agent: string): Expected<{ dropped: number }> {
    const kept = this.notices.filter((notice) => notice.asker !== asker || notice.agent !== agent)
    const dropped = this.notices.length - kept.length
    if (dropped === 0) return { refused: 'notice.none' }
    this.#changed()
    this.notices = kept
    return { dropped }
  }

  /** What there is to tell, by the words of it: whoever was asked about has written to the asker alone since. */
  due(): Map<string, Notice> {
    const due = new Map<string, Notice>()
    for (const notice of this.notices) {
      const place = [notice.asker, notice.agent].sort().join()
      const isAnswer = (letter: Letter) => letter.place === place && letter.from === notice.agent
      const answer = notice.when === 'answered' ? this.letters.slice(notice.after).find(isAnswer) : undefined
      if (answer) due.set(`${notice.agent} has answered: ${answer.id} "${answer.body}"`, notice)
    }
    return due
  }

  /** It is over with the message that tells it. */
  told(notice: Notice, { id, seq, body }: Required<Pick<Letter, 'id' | 'seq' | 'body'>>): void {
    const place = [notice.asker, 'agent-relay'].sort().join()
    const letter: Letter = { id, seq, body, from: 'agent-relay', place, kind: 'status', at: this.#at }
    this.notices = this.notices.filter((each) => each !== notice)
    this.letters.push(letter)
    this.agents.get(notice.asker)?.push({ letter, state: 'stored' })
  }

  // The inbox

  unread(agent: string, filter: Filter = {}): Item[] {
    return this.#matching(agent, filter).filter(({ state }) => state !== 'read')
  }

  #matching(agent: string, { from, channel, thread, before }: Filter): Item[] {
    const end = before === undefined ? undefined : this.letters.findIndex(({ id }) => id === before)
    const fits = ({ letter }: Item) =>
      (end === undefined || this.letters.indexOf(letter) < end) &&
      (from === undefined || letter.from === from) &&
      (channel === undefined || letter.place === channel) &&
      (thread === undefined || letter.thread === thread || letter.id === thread)
    return (this.agents.get(agent) ?? []).filter(fits)
  }

  /** Handed to a live session of the agent that may still come back for it. */
  isHeld(agent: string, { state, route = '', until = 0, offeredAt = 0, session = '' }: Item, at = this.#at): boolean {
    // An offer from the future was made before the clock was set back.
    const isItsTime = offeredAt <= at && at < until
    return state === 'offered' && holding.includes(route) && isItsTime && this.live.get(session) === agent
  }

  /** What a take would find now, by kind and by where it comes from. */
  count(agent: string, now: number): Record<string, unknown> {
    const kinds: Record<string, number> = {}
    const sources: Record<string, number> = {}
    const free = this.unread(agent).filter((item) => !this.isHeld(agent, item, now))
    for (const { letter } of free) {
      const source = letter.place.startsWith('#') ? letter.place : letter.from
      kinds[letter.kind] = (kinds[letter.kind] ?? 0) + 1
      sources[source] = (sources[source] ?? 0) + 1
    }
    return { total: free.length, kinds, sources, newest: free.at(-1)?.letter.seq ?? 0 }
  }

  peek(agent: string, filter: Filter): { items: Item[]; more: number } {
    const { limit = pageMessages } = filter
    const isBack = filter.unreadOnly === false || filter.before !== undefined
    const all = isBack ? this.#matching(agent, filter) : this.unread(agent, filter)
    const items = isBack ? all.slice(-limit) : all.slice(0, limit)
    return { items, more: all.length - items.length }
  }

  /** Unread and free ones are handed out; of the past, what is read or held elsewhere is only shown. */
  take(
    agent: string,
    session: string,
    filter: Filter,
    route = 'take',
  ): Expected<{ items: Item[]; handed: Item[]; more: number }> {
    const { channel, limit = pageMessages } = filter
    if (channel !== undefined && !this.channels.has(channel)) return { refused: 'channel.unknown' }
    if (this.isHidden(agent, filter.before)) return { refused: 'message.unknown' }
    if (channel !== undefined) this.enter(agent, channel)
    const isFree = (item: Item) => item.state !== 'read' && !this.isHeld(agent, item)
    const free = this.#matching(agent, filter).filter(isFree)
    const { items, more } =
      filter.unreadOnly === false || filter.before !== undefined
        ? this.peek(agent, filter)
        : { items: free.slice(0, limit), more: Math.max(0, free.length - limit) }
    const handed = items.filter(isFree)
    for (const item of handed) this.#offer(item, session, route)
    return { items, handed, more }
  }

  /** Puts certain messages before an agent: by push and the like they stay free. What another session holds only a wait's end takes over. */
  offer(agent: string, session: string, ids: string[], route: string): Expected<{ offered: number }> {
    const items = ids.map((id) => this.#ownItem(agent, id))
    if (items.some((item) => item === undefined)) return { refused: 'message.not-yours' }
    const isElsewhere = (item: Item) => this.isHeld(agent, item) && item.session !== session
    const open = (items as Item[]).filter(
      (item) => item.state !== 'read' && (holding.includes(route) || !isElsewhere(item)),
    )
    for (const item of open) this.#offer(item, session, route)
    return { offered: open.length }
  }

  read(agent: string, ids: string[], thread?: string): Expected<{ read: number }> {
    const items = new Set<Item>()
    for (const id of ids) {
      if (!this.byId(id)) return { refused: 'message.unknown' }
      const item = this.#ownItem(agent, id)
      if (!item) return { refused: 'message.not-yours' }
      items.add(item)
    }
    if (thread !== undefined) for (const item of this.unread(agent, { thread })) items.add(item)
    return { read: this.#read(items) }
  }

  /** A session came back with a call: what its earlier answers brought counts as read. */
  settle(session: string): void {
    const agent = this.live.get(session) as string
    const handed = this.handed.get(session) as Set<Letter>
    this.#read([...handed].map((letter) => this.item(agent, letter) as Item))
    handed.clear()
  }

  /** An answer has left. */
  /** The answer was lost, and the wire knows: what the session still holds of it is free. */
  letGo(session: string, items: Item[]): void {
    for (const item of items) {
      if (item.state !== 'offered' || item.session !== session || item.until === undefined) continue
      Object.assign(item, { session: undefined, until: undefined })
      this.#changed()
    }
  }

  flushed(session: string, items: Item[]): void {
    for (const { letter } of items) this.handed.get(session)?.add(letter)
  }

  #ownItem(agent: string, id: string): Item | undefined {
    const letter = this.byId(id)
    return letter && this.item(agent, letter)
  }

  #offer(item: Item, session: string, route: string): void {
    this.#changed()
    const until = holding.includes(route) ? this.#at + holdMs : undefined
    Object.assign(item, { state: 'offered', route, session, until, offeredAt: this.#at })
  }

  #read(items: Iterable<Item>): number {
    const open = [...items].filter(({ state }) => state !== 'read')
    if (open.length > 0) this.#changed()
    for (const item of open) Object.assign(item, { state: 'read', readAt: this.#at })
    return open.length
  }

  #changed(): void {
    this.changes++
  }
}
