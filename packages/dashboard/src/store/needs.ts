// What needs the person first, and how the page says so when it is not looked at: the title's badge and, where allowed, a notification.

import type { Agent, Conversation, RelayEvent } from '@agent-relay/sdk/browser'
import { Cell } from './cell.ts'
import { connection } from './connection.ts'
import { conversationOf, conversations, isDirect, titleOf } from './conversations.ts'
import { onEvents } from './events.ts'
import { fleet, stateOf } from './fleet.ts'

export interface Need {
  key: string
  kind: 'blocked' | 'message'
  title: string
  text: string
  /** Of a message where it was said; of a worker its name. */
  at: string
  since: string
}

export const needs = new Cell<readonly Need[]>([])

export function followNeeds(): void {
  const look = (): void => needs.set(find(fleet.value.agents, conversations.value ?? []))
  fleet.listen(look)
  conversations.listen(look)
  needs.listen(() => {
    const { workspace } = connection.value
    const count = needs.value.length
    document.title = `${count > 0 ? `(${count}) ` : ''}${workspace ? `${workspace} · ` : ''}Agent Relay`
  })
  onEvents((events) => events.forEach(announce))
}

function find(agents: readonly Agent[], list: readonly Conversation[]): Need[] {
  const { agent: me } = connection.value
  const blocked = agents
    .filter((agent) => stateOf(agent).needsYou)
    .map(
      (agent): Need => ({
        key: `worker/${agent.name}`,
        kind: 'blocked',
        title: agent.name,
        text: stateOf(agent).text,
        at: agent.name,
        since: agent.lastCallAt ?? '',
      }),
    )
  const waiting = list
    .filter(({ name, unread }) => unread > 0 && isDirect(name))
    .map(
      ({ name, unread, last }): Need => ({
        key: `message/${name}`,
        kind: 'message',
        title: `${titleOf(name, me)}${unread > 1 ? ` (${unread})` : ''}`,
        text: last?.preview ?? '',
        at: name,
        since: last?.ts ?? '',
      }),
    )
  return [...blocked, ...waiting]
}

const textChars = 120

function announce({ type, fact, message }: RelayEvent): void {
  if (!mayAnnounce()) return
  const { agent: me } = connection.value
  if (type === 'worker.changed' && fact.status === 'blocked')
    notify(`${fact.worker} is blocked`, String(fact.reason ?? 'a dialog is open'), `#/agent/${fact.worker}/terminal`)
  if (message && message.from !== me && isDirect(conversationOf(message))) {
    const isForMe = conversationOf(message).slice(1).split(',').includes(me)
    if (isForMe)
      notify(
        `${message.from} [${message.kind}]`,
        message.body.slice(0, textChars),
        `#/talk/${encodeURIComponent(conversationOf(message))}`,
      )
  }
}

/** Not to somebody who looks at it. A page that is seen behind another window is not looked at. */
function mayAnnounce(): boolean {
  return !document.hasFocus() && 'Notification' in window && Notification.permission === 'granted'
}

function notify(title: string, body: string, hash: string): void {
  const shown = new Notification(title, { body, tag: hash })
  shown.onclick = () => {
    window.focus()
    location.hash = hash
  }
}
