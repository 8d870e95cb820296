// Sessions that want each message as it comes: woken by a hint, they take from the inbox like anyone else, and send what they took.

import type { Entry, Refusal } from '@agent-relay/sdk/protocol'
import type { Clock } from '../clock.ts'
import { directMembers } from '../core/conversations.ts'
import { RefusalError, refusalOf } from '../refusal-error.ts'
import type { Store } from '../store/store.ts'
import type { Engine } from './engine.ts'
import type { Parts } from './parts.ts'
import type { Session, Sessions } from './sessions.ts'
import type { Sink, Watch } from './sink.ts'

const batchMax = 64
/** A wake-up may be lost, and a hold may run out without one: look again this often. */
const lookAgainMs = 30_000

export class Deliveries {
  readonly #store: Store
  readonly #engine: Engine
  readonly #clock: Clock
  readonly #sessions: Sessions
  readonly #nextCause: () => string
  readonly #byAgent = new Map<string, Set<Follower>>()
  readonly #byConversation = new Map<string, Set<Follower>>()

  constructor(options: Parts) {
    this.#store = options.store
    this.#engine = options.engine
    this.#clock = options.clock
    this.#sessions = options.sessions
    this.#nextCause = options.nextCause
    options.hub.listen((entries) => this.#wakeFor(entries))
    // What a vanished session held is free again.
    options.sessions.onChange((agent) => this.#wake(this.#byAgent.get(agent)))
  }

  follow(session: Session, sink: Sink): Watch {
    const agent = session.agent as string
    const hold = this.#sessions.hold(session)
    const end = (refused: Refusal) => {
      watch.stop()
      sink.end(refused)
    }
    const whom = { agent, hold: hold.id }
    const follower = new Follower(this.#store, this.#engine, whom, { ...sink, end }, this.#nextCause)
    put(this.#byAgent, agent, follower)
    for (const conversation of this.#store.queries.conversationsOf(agent))
      put(this.#byConversation, conversation, follower)
    const lookAgain = () => {
      follower.wake()
      alarm = this.#clock.after(lookAgainMs, lookAgain)
    }
    let alarm = this.#clock.after(0, lookAgain)
    const watch = {
      seq: this.#store.journal.lastSeq,
      drained: () => follower.wake(),
      stop: () => {
        alarm.cancel()
        follower.stop()
        hold.release()
        drop(this.#byAgent, agent, follower)
        for (const conversation of [...this.#byConversation.keys()]) drop(this.#byConversation, conversation, follower)
      },
    }
    return watch
  }

  #wakeFor(entries: Entry[]): void {
    for (const { facts } of entries) {
      for (const fact of facts) {
        if (fact.type === 'channel.joined') this.#admit(fact.agent, fact.channel)
        else if (fact.type === 'conversation.opened') {
          for (const agent of directMembers(fact.conversation)) this.#admit(agent, fact.conversation)
        } else if (fact.type === 'message.created') this.#wake(this.#byConversation.get(fact.conversation))
        else if (fact.type === 'delivery.released') this.#wake(this.#byAgent.get(fact.agent))
      }
    }
  }

  #admit(agent: string, conversation: string): void {
    for (const follower of this.#byAgent.get(agent) ?? []) put(this.#byConversation, conversation, follower)
  }

  #wake(followers: Set<Follower> | undefined): void {
    for (const follower of followers ?? []) follower.wake()
  }
}

class Follower {
  readonly #store: Store
  readonly #engine: Engine
  readonly #for: { agent: string; hold: string }
  readonly #sink: Sink
  readonly #nextCause: () => string
  #isRunning = true
  #isTaking = false
  #again = false

  constructor(
    store: Store,
    engine: Engine,
    whom: { agent: string; hold: string },
    sink: Sink,
    nextCause: () => string,
  ) {
    this.#store = store
    this.#engine = engine
    this.#for = whom
    this.#sink = sink
    this.#nextCause = nextCause
  }

  wake(): void {
    this.#again = true
    if (!this.#isTaking) this.#take().catch((error: unknown) => this.#sink.end(refusalOf(error)))
  }

  stop(): void {
    this.#isRunning = false
  }

  async #take(): Promise<void> {
    this.#isTaking = true
    const by = this.#for.agent
    while (this.#isRunning && this.#again && this.#sink.isReady()) {
      this.#again = false
      const reply = await this.#engine.submit({
        rule: 'inbox.take',
        input: { route: 'deliver', limit: batchMax, uncounted: true },
        by,
        cause: this.#nextCause(),
        session: this.#for.hold,
      })
      // A full disk: the messages wait, and the next look tries again. A damaged file stays damaged, and who waits is told.
      if ('refusal' in reply && !reply.refusal.retry) throw new RefusalError(reply.refusal)
      if ('refusal' in reply || !this.#isRunning) break
      const { messages, more } = reply.outcome as { messages: string[]; more: number }
      const { queries } = this.#store
      const found = reply.found ? queries.offered(reply.found, 'deliver') : queries.inboxMessages(by, messages)
      for (const message of found) this.#sink.item(message)
      if (more > 0) this.#again = true
    }
    this.#isTaking = false
  }
}

function put(map: Map<string, Set<Follower>>, key: string, follower: Follower): void {
  const set = map.get(key)
  if (set) set.add(follower)
  else map.set(key, new Set([follower]))
}

function drop(map: Map<string, Set<Follower>>, key: string, follower: Follower): void {
  const set = map.get(key)
  if (set?.delete(follower) && set.size === 0) map.delete(key)
}
