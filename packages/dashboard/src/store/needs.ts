// The person's needs (things that wait for the person) as the daemon lists them, the same in every browser; and how the page announces them while nobody looks
// at it: by a count in the title and, if allowed, by a notification. Snoozed needs are in snoozes.ts.

import {
  isAddressedTo,
  type Message,
  type Need,
  permissionPhrase,
  type RelayEvent,
} from '@agent-relay/sdk/internal/page'
import { type Approval, approvals } from './approvals.ts'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { conversationOf, isDirect } from './conversations.ts'
import { onEvents } from './events.ts'
import { fleet } from './fleet.ts'
import { ListRefresher, reuseUnchanged } from './refresh.ts'
import { snoozesIn } from './snoozes.ts'
import { chosenWorkspace } from './workspace-storage.ts'

/** A need that carries the approval itself in place of its id. */
export interface ShownNeed extends Omit<Need, 'approval'> {
  approval?: Approval
}

/** The needs by urgency, and the oldest first among equals, so that a new need does not push down the one that the person looks at. */
export const needs = new Cell<readonly ShownNeed[]>([])
/** The number of snoozed needs. */
export const snoozedCount = new Cell(0)

let listed: readonly Need[] = []
const refresh = new ListRefresher(ask, { minMs: 150, idleMs: 15_000 })

export function followNeeds(): void {
  fleet.listen(refreshNeeds)
  approvals.listen(look)
  if (chosenWorkspace !== undefined) snoozesIn(chosenWorkspace).listen(look)
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

export function refreshNeeds(): void {
  refresh.hint()
}

async function ask(): Promise<void> {
  const { needs } = await client.call('need.list', {})
  listed = reuseUnchanged(listed, needs, ({ key }) => key)
  look()
}

function look(): void {
  const found = joinedNeeds(connection.value.workspace, listed, approvals.value)
  snoozedCount.set(found.snoozed)
  if (!isSame(found.needs, needs.value)) needs.set(found.needs)
}

/** Joins the needs that the daemon lists for a workspace with its approvals, and leaves out those that are snoozed. */
export function joinedNeeds(
  workspace: string,
  listed: readonly Need[],
  approvals: readonly Approval[],
): { needs: ShownNeed[]; snoozed: number } {
  const open = new Map(approvals.map((approval) => [approval.id, approval]))
  const all = listed.flatMap(({ approval: id, ...need }): ShownNeed[] => {
    if (id === undefined) return [need]
    // After an answer, the approval disappears before its need does: the need is not shown in between.
    const approval = open.get(id)
    return approval ? [{ ...need, approval }] : []
  })
  const snoozes = snoozesIn(workspace).value
  const shown = all.filter(({ key }) => (snoozes.get(key) ?? 0) <= Date.now())
  return { needs: shown, snoozed: all.length - shown.length }
}

const isSame = (a: readonly ShownNeed[], b: readonly ShownNeed[]): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Whether a message is for the person alone, or names the person. */
function isForMe(message: Message): boolean {
  const { agent: me } = connection.value
  if (me === '' || message.from === me) return false
  const place = conversationOf(message)
  if (isDirect(place) && !place.slice(1).split(',').includes(me)) return false
  return isAddressedTo(me, { kind: message.kind, isDirect: isDirect(place), body: () => message.body })
}

const textChars = 120

function announce({ type, fact, message }: RelayEvent): void {
  if (!mayAnnounce()) return
  if (type === 'worker.changed' && fact.status === 'blocked')
    notify(`${fact.worker} is blocked`, fact.reason ?? 'a dialog is open', `#/agent/${fact.worker}/terminal`)
  // An approval that is a dialog on a worker's screen is not announced: the blocked worker was announced already.
  if (type === 'approval.opened' && fact.tool !== 'dialog')
    notify(`${fact.agent} ${permissionPhrase(fact).wants}`, fact.input.slice(0, textChars), '#/now')
  if (message && isForMe(message))
    notify(
      message.kind === 'free' ? message.from : `${message.from} [${message.kind}]`,
      message.body.slice(0, textChars),
      `#/talk/${encodeURIComponent(conversationOf(message))}`,
    )
}

/**
 * Whether the page may show notifications: only while it does not have the focus, since a page behind another window may be visible although nobody looks at
 * it.
 */
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
