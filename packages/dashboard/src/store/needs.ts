// The needs of the person, as the daemon tells them, the same in every browser. A page that is not looked at shows them by the title's count and, where
// allowed, a notification. Needs that the person has put off are in put-off.ts.

import { isSaidTo, type Message, type Need, permissionPhrase, type RelayEvent } from '@agent-relay/sdk/internal/page'
import { type Approval, approvals } from './approvals.ts'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { conversationOf, isDirect } from './conversations.ts'
import { onEvents } from './events.ts'
import { fleet } from './fleet.ts'
import { isPutOff, putOff } from './put-off.ts'
import { keepSame, Refresh } from './refresh.ts'

/** With the approval itself in the place of its id. */
export interface ShownNeed extends Omit<Need, 'approval'> {
  approval?: Approval
}

/** In the order of their urgency, and among equals the oldest first: a new one does not push down what the person looks at. */
export const needs = new Cell<readonly ShownNeed[]>([])
/** The number of needs that are put off for a while. */
export const snoozed = new Cell(0)

let listed: readonly Need[] = []
const refresh = new Refresh(ask, { minMs: 150, idleMs: 15_000 })

export function followNeeds(): void {
  fleet.listen(hintNeeds)
  approvals.listen(look)
  putOff.listen(look)
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  needs.listen(() => {
    const { workspace } = connection.value
    const count = needs.value.length
    document.title = `${count > 0 ? `(${count}) ` : ''}${workspace ? `${workspace} · ` : ''}Agent Relay`
  })
  onEvents((events) => {
    for (const event of events) announce(event)
    if (events.some(isHint)) refresh.hint()
  })
}

const hints = /^(approval|need|run|worker)\./
const isHint = ({ type, message }: RelayEvent): boolean => message !== undefined || hints.test(type)

export function hintNeeds(): void {
  refresh.hint()
}

async function ask(): Promise<void> {
  const { needs } = await client.call('need.list', {})
  listed = keepSame(listed, needs, ({ key }) => key)
  look()
}

/** The person is done with it, without an answer: with what the row shows, and not with what has come since. */
export function dismiss({ key, message }: ShownNeed): void {
  listed = listed.filter((need) => need.key !== key)
  look()
  client
    .call('need.dismiss', { key, through: message?.seq })
    .catch(() => {})
    .finally(hintNeeds)
}

function look(): void {
  const open = new Map(approvals.value.map((approval) => [approval.id, approval]))
  const all = listed.flatMap(({ approval: id, ...need }): ShownNeed[] => {
    if (id === undefined) return [need]
    // A need that was answered just now leaves that list first.
    const approval = open.get(id)
    return approval ? [{ ...need, approval }] : []
  })
  const shown = all.filter(({ key }) => !isPutOff(key))
  snoozed.set(all.length - shown.length)
  if (!isSame(shown, needs.value)) needs.set(shown)
}

const isSame = (a: readonly ShownNeed[], b: readonly ShownNeed[]): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Said to the person alone or by name. */
function isForMe(message: Message): boolean {
  const { agent: me } = connection.value
  if (me === '' || message.from === me) return false
  const place = conversationOf(message)
  if (isDirect(place) && !place.slice(1).split(',').includes(me)) return false
  return isSaidTo(me, { kind: message.kind, isDirect: isDirect(place), body: () => message.body })
}

const textChars = 120

function announce({ type, fact, message }: RelayEvent): void {
  if (!mayAnnounce()) return
  if (type === 'worker.changed' && fact.status === 'blocked')
    notify(`${fact.worker} is blocked`, fact.reason ?? 'a dialog is open', `#/agent/${fact.worker}/terminal`)
  // A dialog on a screen has been told of as a blocked worker.
  if (type === 'approval.opened' && fact.tool !== 'dialog')
    notify(`${fact.agent} ${permissionPhrase(fact).wants}`, fact.input.slice(0, textChars), '#/now')
  if (message && isForMe(message))
    notify(
      `${message.from} [${message.kind}]`,
      message.body.slice(0, textChars),
      `#/talk/${encodeURIComponent(conversationOf(message))}`,
    )
}

/** Only while the page does not have the focus: a page behind another window may be visible and is not looked at. */
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
