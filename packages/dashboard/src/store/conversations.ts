// The conversations with their last word and what the person has not read there.

import type { Conversation, RelayEvent } from '@agent-relay/sdk/browser'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { Refresh } from './refresh.ts'

export const conversations = new Cell<readonly Conversation[] | undefined>(undefined)

const listMax = 500
const previewChars = 200
const refresh = new Refresh(ask, { minMs: 1_500 })

export function followConversations(): void {
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  onEvents(take)
}

async function ask(): Promise<void> {
  conversations.set((await client.call('conversation.list', { limit: listMax })).conversations)
}

const told = /^(channel|conversation|agent)\./

function take(events: readonly RelayEvent[]): void {
  for (const event of events) {
    if (event.type === 'message.created') spoken(event)
    else if (told.test(event.type) || event.fact.agent === connection.value.agent) refresh.hint()
  }
}

/** At once, for the eye; the next answer of the daemon corrects it. */
function spoken({ fact, message }: RelayEvent): void {
  refresh.hint()
  const list = conversations.value
  const found = list?.find(({ name }) => name === fact.conversation) ?? begun(String(fact.conversation))
  if (!list || !found || !message) return
  const { body, ...head } = message
  const isNews = found.joined && message.from !== connection.value.agent
  const changed = {
    ...found,
    messages: Math.max(found.messages, Number(fact.n)),
    unread: found.unread + (isNews ? 1 : 0),
    last: { ...head, preview: body.slice(0, previewChars) },
  }
  conversations.set([changed, ...list.filter(({ name }) => name !== changed.name)])
}

/** A pair or group tells by its name who is in it: its first word is seen as fast as any other. */
function begun(name: string): Conversation | undefined {
  if (!isDirect(name)) return undefined
  const members = name.slice(1).split(',')
  return { name, members, messages: 0, unread: 0, joined: members.includes(connection.value.agent) }
}

/** How a conversation is called on the page: a pair by the other one, or by both where the person is in neither. */
export function titleOf(name: string, me: string): string {
  if (name === '*') return 'Everyone'
  if (!name.startsWith('@')) return name
  const others = name.slice(1).split(',')
  return others.includes(me) ? others.filter((other) => other !== me).join(', ') : others.join(' · ')
}

export function isDirect(name: string): boolean {
  return name.startsWith('@')
}

/** Where a message belongs, as the daemon names it. */
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
