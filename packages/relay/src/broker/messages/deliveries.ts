// Pushes each new message to the sessions that follow their inbox (`inbox.follow`). The hub's hint of a commit wakes such a session, which then takes messages
// from the inbox like any other.

import { type Entry, limits, type Refusal } from '@agent-relay/sdk/protocol'
import { directMembers } from '../../core/conversations.ts'
import { RefusalError, toRefusal } from '../../core/refusal-error.ts'
import type { Watch, WatchItemSink, WorkspaceParts } from '../call.ts'
import type { Session } from '../sessions/session.ts'
import { submitInboxTake } from './inbox.ts'

const deliveryBatchMax = 64

export class Deliveries {
  readonly #parts: WorkspaceParts
  readonly #byAgent = new Map<string, Set<InboxFollower>>()
  readonly #byConversation = new Map<string, Set<InboxFollower>>()

  constructor(parts: WorkspaceParts) {
    this.#parts = parts
    parts.hub.listen((entries) => this.#wakeFor(entries))
    // When a session ends, the messages that were reserved for it can be taken by others, so these look again.
    parts.sessions.onChange((agent) => this.#wake(this.#byAgent.get(agent)))
  }

  follow(session: Session, since: number | undefined, sink: WatchItemSink): Watch {
    const { store, clock, sessions } = this.#parts
    const agent = session.agent as string
    const hold = sessions.openHold(session)
    const end = (refused: Refusal) => {
      watch.stop()
      sink.end(refused)
    }
    const whom = { agent, hold: hold.id, since }
    const follower = new InboxFollower(this.#parts, whom, { ...sink, end })
    addFollower(this.#byAgent, agent, follower)
    for (const conversation of store.queries.conversationsOf(agent))
      addFollower(this.#byConversation, conversation, follower)
    const lookAgain = () => {
      follower.wake()
      alarm = clock.after(limits.lookAgainMs, lookAgain)
    }
    let alarm = clock.after(0, lookAgain)
    const watch = {
      seq: store.journal.lastSeq,
      drained: () => follower.wake(),
      stop: () => {
        alarm.cancel()
        follower.stop()
        hold.release()
        removeFollower(this.#byAgent, agent, follower)
        for (const conversation of [...this.#byConversation.keys()])
          removeFollower(this.#byConversation, conversation, follower)
      },
    }
    return watch
  }

  /** Whether a session follows the agent's inbox, so that messages are sent to it at once. */
  isFollowed(agent: string): boolean {
    return this.#byAgent.has(agent)
  }

  #wakeFor(entries: Entry[]): void {
    for (const { facts } of entries) {
      for (const fact of facts) {
        if (fact.type === 'channel.joined') this.#followConversation(fact.agent, fact.channel)
        else if (fact.type === 'conversation.opened') {
          for (const agent of directMembers(fact.conversation)) this.#followConversation(agent, fact.conversation)
        } else if (fact.type === 'message.created') this.#wake(this.#byConversation.get(fact.conversation))
        else if (fact.type === 'delivery.released') this.#wake(this.#byAgent.get(fact.agent))
      }
    }
  }

  #followConversation(agent: string, conversation: string): void {
    for (const follower of this.#byAgent.get(agent) ?? []) addFollower(this.#byConversation, conversation, follower)
  }

  #wake(followers: Set<InboxFollower> | undefined): void {
    for (const follower of followers ?? []) follower.wake()
  }
}

interface FollowedInbox {
  agent: string
  hold: string
  /** The number of a journal entry: only messages of later entries are sent. Unset if all unread messages are. */
  since: number | undefined
}

class InboxFollower {
  readonly #parts: WorkspaceParts
  readonly #inbox: FollowedInbox
  readonly #sink: WatchItemSink
  readonly #stopped = new AbortController()
  #isTaking = false
  #mustTakeAgain = false

  constructor(parts: WorkspaceParts, whom: FollowedInbox, sink: WatchItemSink) {
    this.#parts = parts
    this.#inbox = whom
    this.#sink = sink
  }

  wake(): void {
    this.#mustTakeAgain = true
    if (!this.#isTaking) this.#take().catch((error: unknown) => this.#isRunning && this.#sink.end(toRefusal(error)))
  }

  stop(): void {
    this.#stopped.abort()
  }

  get #isRunning(): boolean {
    return !this.#stopped.signal.aborted
  }

  async #take(): Promise<void> {
    this.#isTaking = true
    const { agent, since } = this.#inbox
    const { ids, store } = this.#parts
    while (this.#isRunning && this.#mustTakeAgain && this.#sink.isReady()) {
      this.#mustTakeAgain = false
      const input = { route: 'deliver', limit: deliveryBatchMax, uncounted: true, after: since } as const
      const submission = { rule: 'inbox.take', input, by: agent, cause: ids('d'), session: this.#inbox.hold } as const
      const reply = await submitInboxTake(this.#parts, submission, this.#stopped.signal)
      // On a full disk the messages wait for the next attempt. An error that no retry can fix, such as a damaged file, ends this watch.
      if ('refusal' in reply && !reply.refusal.retry) throw new RefusalError(reply.refusal)
      if ('refusal' in reply || !this.#isRunning) break
      const { messages, more } = reply.outcome as { messages: string[]; more: number }
      const { queries } = store
      const found = reply.found
        ? queries.offeredMessages(reply.found, 'deliver')
        : queries.inboxMessages(agent, messages)
      for (const message of found) this.#sink.item(message)
      if (more > 0) this.#mustTakeAgain = true
    }
    this.#isTaking = false
  }
}

function addFollower(map: Map<string, Set<InboxFollower>>, key: string, follower: InboxFollower): void {
  const set = map.get(key)
  if (set) set.add(follower)
  else map.set(key, new Set([follower]))
}

function removeFollower(map: Map<string, Set<InboxFollower>>, key: string, follower: InboxFollower): void {
  const set = map.get(key)
  if (set?.delete(follower) && set.size === 0) map.delete(key)
}
