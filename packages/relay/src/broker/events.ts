// Facts as watchers see them: who may see which, in pages and as a stream that never skips and never runs ahead of its reader.

import { type Entry, type Fact, limits, type RelayEvent } from '@agent-relay/sdk/protocol'
import { mayCall } from '../core/actions.ts'
import { broadcast, directMembers } from '../core/conversations.ts'
import { canSee } from '../core/messages.ts'
import { refusalOf } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Hub } from './hub.ts'
import type { Sink, Watch } from './sink.ts'

export interface Reader {
  agent?: string
  /** The workspace key's holder sees all. */
  isHolder: boolean
}

const entriesPerRead = 200

export class Events {
  readonly #store: Store
  readonly #hub: Hub

  constructor(store: Store, hub: Hub) {
    this.#store = store
    this.#hub = hub
  }

  /** At most a page of bytes. It ends between entries, never inside one: `next` is where to go on without a gap or a repeat. */
  list(
    reader: Reader,
    since: number,
    types: string[] | undefined,
    limit: number,
  ): { events: RelayEvent[]; next: number } {
    const events: RelayEvent[] = []
    let next = since
    let bytes = 0
    while (events.length < limit) {
      const entries = this.#store.journal.read(next, entriesPerRead)
      for (const entry of entries) {
        const seen = this.#visible(entry, reader, types)
        for (const { message } of seen) bytes += message ? Buffer.byteLength(message.body) : 0
        if (events.length > 0 && bytes > limits.pageBytesMax) return { events, next }
        events.push(...seen)
        next = entry.seq
        if (events.length >= limit) break
      }
      if (entries.length < entriesPerRead) break
    }
    return { events, next }
  }

  /** Reads the journal as fast as the sink takes it: a slow reader holds a number, not a queue. */
  follow(reader: Reader, since: number, types: string[] | undefined, sink: Sink): Watch {
    let position = since
    let isRunning = true
    let isPlanned = false
    const pump = () => {
      isPlanned = false
      if (!isRunning || !sink.isReady()) return
      try {
        for (const entry of this.#store.journal.read(position, entriesPerRead)) {
          for (const event of this.#visible(entry, reader, types)) sink.item(event)
          position = entry.seq
          if (!sink.isReady()) break
        }
      } catch (error) {
        // A damaged file. It concerns this reader; nobody else in the daemon.
        halt()
        return sink.end(refusalOf(error))
      }
      plan()
    }
    // A long way to catch up goes in steps: all at once, every other session would wait for it.
    const plan = () => {
      if (isPlanned || position >= this.#store.journal.lastSeq) return
      isPlanned = true
      setImmediate(pump)
    }
    // What is not asked for is passed over without reading it again: most commits concern few watchers.
    const stop = this.#hub.listen((entries) => {
      const isNext = position + 1 === entries[0]?.seq && !isPlanned
      const isWanted = ({ facts }: Entry) => facts.some(({ type }) => isOf(types, type))
      if (isNext && !entries.some(isWanted)) position = entries[entries.length - 1]?.seq as number
      else plan()
    })
    const halt = () => {
      isRunning = false
      stop()
    }
    plan()
    return { seq: since, drained: plan, stop: halt }
  }

  #visible(entry: Entry, reader: Reader, types: string[] | undefined): RelayEvent[] {
    const events: RelayEvent[] = []
    for (const fact of entry.facts) {
      if (!isOf(types, fact.type) || !this.#maySee(reader, fact)) continue
      const message = fact.type === 'message.created' ? this.#store.queries.message(fact.id) : undefined
      const ts = new Date(entry.at).toISOString()
      events.push({
        seq: entry.seq,
        ts,
        by: entry.by,
        type: fact.type,
        fact: withoutSecrets(fact),
        ...(message ? { message } : {}),
      })
    }
    return events
  }

  #maySee({ agent, isHolder }: Reader, fact: Fact): boolean {
    if (isHolder) return true
    switch (fact.type) {
      case 'workspace.policy-set':
      case 'agent.registered':
      case 'agent.updated':
      case 'channel.created':
        return true
      case 'channel.joined':
      case 'channel.left':
        return fact.channel !== broadcast
      case 'workspace.began':
      case 'workspace.key-issued':
      case 'agent.token-issued':
        return false
      case 'agent.tokens-revoked':
        return fact.agent === agent
      case 'action.registered':
        return mayCall(fact, agent ?? '')
      case 'action.withdrawn':
        return true
      case 'action.invoked':
        return agent !== undefined && (fact.caller === agent || fact.provider === agent)
      case 'action.completed':
        return (
          agent !== undefined && (fact.caller === agent || this.#store.view.invocation(fact.id)?.provider === agent)
        )
      case 'worker.wished':
      case 'worker.wish-changed':
      case 'worker.changed':
        return true
      case 'run.started':
        return agent !== undefined && (fact.agent === agent || fact.parent === agent)
      case 'run.completed':
      case 'run.stopped':
        return agent !== undefined && (fact.agent === agent || this.#store.view.runs.byId(fact.id)?.parent === agent)
      case 'conversation.opened':
        return agent !== undefined && directMembers(fact.conversation).includes(agent)
      case 'message.created':
        return this.#isParty(agent, fact.id)
      case 'delivery.offered':
      case 'delivery.released':
      case 'delivery.read':
        return agent !== undefined && (fact.agent === agent || this.#store.view.message(fact.message)?.from === agent)
      case 'reaction.added':
      case 'reaction.removed':
        return this.#isParty(agent, fact.message)
    }
  }

  #isParty(agent: string | undefined, id: string): boolean {
    const message = agent === undefined ? undefined : this.#store.view.message(id)
    return message !== undefined && canSee(this.#store.view, agent as string, message)
  }
}

function isOf(types: string[] | undefined, type: string): boolean {
  return types === undefined || types.some((pattern) => matches(pattern, type))
}

/** `action.*` names a family, `*` all. */
function matches(pattern: string, type: string): boolean {
  return pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
}

function withoutSecrets(fact: Fact): Record<string, unknown> {
  const { type: _, ...rest } = fact
  if (fact.type === 'workspace.key-issued') return {}
  return fact.type === 'agent.token-issued' ? { agent: fact.agent } : { ...rest }
}
