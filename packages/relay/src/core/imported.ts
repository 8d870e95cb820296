// Imports messages from a file into a new workspace: the same messages of the same agents in the same conversations, all of them read. Nothing else in
// the file is believed: neither keys nor tokens, programs nor runs.

import { agentNamePattern, daemonName, type Fact, type Message } from '@agent-relay/sdk/protocol'
import { broadcast, directKey, directMembers, generalChannel, isChannel } from './conversations.ts'

export class ImportedHistory {
  readonly agents = new Set<string>()
  /** The number of the last message in each conversation. */
  readonly #conversations = new Map<string, number>([
    [generalChannel, 0],
    [broadcast, 0],
  ])
  /** The agents that have spoken in each channel. */
  readonly #speakers = new Map<string, Set<string>>()

  /** Returns the facts of one message. `nextId` makes the ids of new agents. */
  facts({ id, from, to, kind, thread, replyTo }: Omit<Message, 'seq'>, nextId: () => string): Fact[] {
    const conversation = conversationOf(from, to)
    const members = directMembers(conversation)
    const opening = this.#opening(conversation, members, from, nextId)
    const n = (this.#conversations.get(conversation) as number) + 1
    this.#conversations.set(conversation, n)
    const place = { ...(thread === undefined ? {} : { thread }), ...(replyTo === undefined ? {} : { replyTo }) }
    const readers = members.filter((name) => name !== from && this.agents.has(name))
    return [
      ...opening,
      { type: 'message.created', id, conversation, n, from, kind, ...place },
      ...readers.map((agent): Fact => ({ type: 'delivery.read', message: id, agent })),
    ]
  }

  /** Yields the facts that follow the last message: every agent enters the channels where it spoke, and gets the messages from then on. */
  *entering(): Generator<Fact> {
    for (const agent of this.agents)
      for (const channel of [generalChannel, broadcast]) yield this.#joined(channel, agent)
    for (const [channel, speakers] of this.#speakers) for (const agent of speakers) yield this.#joined(channel, agent)
  }

  #joined(channel: string, agent: string): Fact {
    return { type: 'channel.joined', channel, agent, n: this.#conversations.get(channel) as number }
  }

  #opening(conversation: string, members: string[], from: string, nextId: () => string): Fact[] {
    const facts: Fact[] = [...members, from].flatMap((name) => this.#register(name, nextId))
    if (!this.#conversations.has(conversation)) {
      this.#conversations.set(conversation, 0)
      facts.push(
        isChannel(conversation)
          ? { type: 'channel.created', channel: conversation }
          : { type: 'conversation.opened', conversation, members },
      )
    }
    if (isChannel(conversation) && conversation !== generalChannel && this.agents.has(from)) {
      const speakers = this.#speakers.get(conversation) ?? new Set()
      this.#speakers.set(conversation, speakers.add(from))
    }
    return facts
  }

  /** Registers a sender or recipient. The daemon and agents of other workspaces are left out: they have no inbox here. */
  #register(name: string, nextId: () => string): Fact[] {
    if (this.agents.has(name) || name === daemonName || !agentNamePattern.test(name)) return []
    this.agents.add(name)
    return [{ type: 'agent.registered', id: nextId(), agent: { name, type: 'agent' } }]
  }
}

/** Returns the conversation of a message, from the message's sender and address. */
export function conversationOf(from: string, to: Message['to']): string {
  if (typeof to === 'string' && (to === broadcast || isChannel(to))) return to
  return directKey([from, ...(typeof to === 'string' ? [to] : to)])
}
