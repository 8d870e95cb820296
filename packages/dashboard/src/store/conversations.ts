// The list of conversations, each with its last message and the number of messages that the person has not read.

import type { Conversation, EventOf, RelayEvent } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { ListRefresher, reuseUnchanged } from './refresh.ts'

export const conversations = new Cell<readonly Conversation[] | undefined>(undefined)
/** The number of older conversations, which the daemon's answer leaves out. */
export const olderConversations = new Cell(0)

const shownConversationsMax = 500
const previewChars = 200
const refresh = new ListRefresher(ask, { minMs: 1_500 })

export function followConversations(): void {
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  onEvents(take)
}

async function ask(): Promise<void> {
  const answer = await client.call('conversation.list', { limit: shownConversationsMax })
  conversations.set(reuseUnchanged(conversations.value ?? [], answer.conversations, ({ name }) => name))
  olderConversations.set(answer.more)
}

const told = /^(channel|conversation|agent)\./

/** Takes in all events of a batch at once: after a busy moment events come by the thousand. */
function take(events: readonly RelayEvent[]): void {
  const spoken = events.filter((event): event is EventOf<'message.created'> => event.type === 'message.created')
  const isHint = ({ type, fact }: RelayEvent): boolean => told.test(type) || isMine(fact)
  if (spoken.length > 0 || events.some(isHint)) refresh.hint()
  const list = conversations.value
  if (!list || spoken.length === 0) return
  const byName = new Map(list.map((each) => [each.name, each]))
  const changed = new Map<string, Conversation>()
  for (const event of spoken) {
    const { conversation } = event.fact
    const found = changed.get(conversation) ?? byName.get(conversation) ?? begun(conversation)
    if (!found) continue
    changed.delete(conversation)
    changed.set(conversation, withWord(found, event))
  }
  // The conversation with the latest message comes first.
  conversations.set([...[...changed.values()].reverse(), ...list.filter(({ name }) => !changed.has(name))])
}

const isMine = (fact: Record<string, unknown>): boolean => fact.agent === connection.value.agent

/** Adds a new message to its conversation at once; the daemon's next answer corrects the estimate. */
function withWord(found: Conversation, { fact, message }: EventOf<'message.created'>): Conversation {
  const { body, ...head } = message
  const isNews = found.joined && message.from !== connection.value.agent
  return {
    ...found,
    messages: Math.max(found.messages, fact.n),
    unread: found.unread + (isNews ? 1 : 0),
    last: { ...head, preview: body.slice(0, previewChars) },
  }
}

/** Makes a new conversation from its name, so that its first message is shown at once. Works for a pair or group only, whose name lists the members. */
function begun(name: string): Conversation | undefined {
  if (!isDirect(name)) return undefined
  const members = name.slice(1).split(',')
  return { name, members, messages: 0, unread: 0, joined: members.includes(connection.value.agent) }
}

/** The title of a conversation: for a pair, the other agent's name, or both names if the person is not one of the two. */
export function conversationTitle(name: string, me: string): string {
  if (name === '*') return 'Everyone'
  if (!name.startsWith('@')) return name
  const others = name.slice(1).split(',')
  return others.includes(me) ? others.filter((other) => other !== me).join(', ') : others.join(' · ')
}

/** Finds the beginning of each agent's last message, as far as it is also the last message of its conversation. */
export function lastMessageOfAgents(list: readonly Conversation[]): Map<string, string> {
  const words = new Map<string, string>()
  for (const { last } of list) if (last && !words.has(last.from)) words.set(last.from, last.preview)
  return words
}

export function isDirect(name: string): boolean {
  return name.startsWith('@')
}

/** Returns the name of the conversation that a message belongs to, by the same rules as the daemon. */
export function conversationOf({
  channel,
  from,
  to,
}: {
  channel?: string
  from: string
  to: string | string[]
}): string {
  if (channel !== undefined) return channel
  if (to === '*') return '*'
  return `@${[...new Set([from, ...(Array.isArray(to) ? to : [to])])].sort().join(',')}`
}
