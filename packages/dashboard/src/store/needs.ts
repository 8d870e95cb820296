// What waits for the person, until it is answered and not only until it is seen; and how the page says so when it is not looked at: the title's
// count and, where allowed, a notification. What the person has put off: see put-off.ts.

import { type InboxMessage, type Message, type RelayEvent, wishOf } from '@agent-relay/sdk/internal/page'
import { type Approval, approvals, closings } from './approvals.ts'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { conversationOf, isDirect } from './conversations.ts'
import { onEvents } from './events.ts'
import { fleet, type ListedWorker } from './fleet.ts'
import { keepHere, keptAs } from './own-place.ts'
import { isPutOff, putOff, putOffUntil } from './put-off.ts'
import { Refresh } from './refresh.ts'

export interface Need {
  /** Of a question its id; of what was said to the person where; of a worker its own id and what became of it. */
  key: string
  kind: 'approval' | 'blocked' | 'question' | 'failed' | 'mention'
  /** The agent that waits, or has ended. */
  who: string
  /** Of a message: its text. Of a worker: why. */
  text: string
  since: string
  /** The newest, where several are one need. */
  message?: Message
  approval?: Approval
  /** How many messages of that conversation wait. */
  count?: number
}

/** In the order of their urgency, and among equals the oldest first: a new one does not push down what the person looks at. */
export const needs = new Cell<readonly Need[]>([])
/** How many are put off for a while. */
export const snoozed = new Cell(0)

/** A worker that failed longer ago is of no interest any more. */
const failedForMs = 24 * 3_600_000
const unreadMax = 200
/** What the page knows of a worker may be this old when it hears of an answer. */
const unblockMs = 2_000
let lookAgain: ReturnType<typeof setTimeout> | undefined

let owed: readonly Message[] = []
/** Unread messages that name the person, and those already read here that have had no answer. */
const told = new Map<string, InboxMessage | Message>()
const refresh = new Refresh(ask, { minMs: 400, idleMs: 15_000 })

export function followNeeds(): void {
  fleet.listen(look)
  approvals.listen(look)
  closings.listen(look)
  putOff.listen(look)
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  needs.listen(() => {
    const { workspace } = connection.value
    const count = needs.value.length
    document.title = `${count > 0 ? `(${count}) ` : ''}${workspace ? `${workspace} · ` : ''}Agent Relay`
  })
  onEvents((events) => {
    for (const event of events) take(event)
    // Once for all of them: after a rush they come by the thousand.
    if (!events.some(({ message }) => message !== undefined)) return
    look()
    refresh.hint()
  })
}

export const hintNeeds = (): void => refresh.hint()

async function ask(): Promise<void> {
  owed = (await client.call('inbox.owed', {})).messages
  const { messages } = await client.call('inbox.peek', { limit: unreadMax })
  for (const message of [...(await recalled()), ...messages])
    if (isForMe(message) && !isAsked(message)) told.set(message.id, message)
  keep()
  look()
}

const place = keptAs('told')
const toldMax = 50
let isRecalled = false

/** The ids alone are kept in this browser: a message that was read before a reload still waits for its answer. */
function keep(): void {
  while (told.size > unreadMax) told.delete(told.keys().next().value as string)
  keepHere(place, [...told.keys()].slice(-toldMax).join(' '))
}

async function recalled(): Promise<Message[]> {
  if (isRecalled) return []
  isRecalled = true
  const ids = (localStorage.getItem(place) ?? '').split(' ').filter(Boolean)
  const pages = ids.map((around) => client.call('message.list', { around, limit: 1 }).catch(() => undefined))
  return (await Promise.all(pages)).flatMap((page) => page?.messages.filter(({ id }) => ids.includes(id)) ?? [])
}

/** The person is done with it, without an answer. */
export function dismiss({ key, kind, message }: Need): void {
  if (kind !== 'mention' || !message) return putOffUntil(key, Number.POSITIVE_INFINITY)
  forget(conversationOf(message))
  look()
}

/** They are marked as read, and at once: unread ones would come again. */
function forget(place: string): void {
  const ids = [...told.values()].filter((each) => conversationOf(each) === place).map(({ id }) => id)
  for (const id of ids) told.delete(id)
  if (ids.length > 0) client.call('inbox.read', { messages: ids }).catch(() => {})
  keep()
}

/** Whatever the person writes into a conversation answers what was said to them there. */
function take(event: RelayEvent): void {
  const { message } = event
  announce(event)
  if (!message) return
  if (isForMe(message)) hear(message)
  if (message.from === connection.value.agent) {
    forget(conversationOf(message))
    owed = owed.filter(({ id }) => id !== message.replyTo)
  }
}

/** A question is owed at once; the next answer of the daemon corrects it. */
function hear(message: Message): void {
  if (!isAsked(message)) told.set(message.id, message)
  else if (!owed.some(({ id }) => id === message.id)) owed = [...owed, message]
}

/** Of the person directly: what is asked in a channel is owed by nobody in particular. */
const isAsked = (message: Message): boolean => message.kind === 'question' && isDirect(conversationOf(message))

/** Said to the person alone or by name. What only reports is in the conversations, and asks for nothing. */
function isForMe(message: Message): boolean {
  const { agent: me } = connection.value
  if (me === '' || message.from === me || message.kind === 'status') return false
  const place = conversationOf(message)
  if (isDirect(place)) return place.slice(1).split(',').includes(me)
  return mentions(message.body, me)
}

function mentions(body: string, name: string): boolean {
  for (let at = body.indexOf(`@${name}`); at >= 0; at = body.indexOf(`@${name}`, at + 1)) {
    const [before, after] = [body.charAt(at - 1), body.charAt(at + name.length + 1)]
    if (!/[\w.@-]/.test(before) && !/[\w-]/.test(after)) return true
  }
  return false
}

function look(): void {
  const { workers } = fleet.value
  const questions = new Set(owed.map(({ id }) => id))
  // Whoever waits for an approval is blocked by it: one thing, one row, also in the moment after its answer.
  const justAnswered = [...closings.value.values()].filter(({ heardAt }) => Date.now() - heardAt < unblockMs)
  const asking = new Set([...approvals.value, ...justAnswered].map(({ agent }) => agent))
  clearTimeout(lookAgain)
  if (justAnswered.length > 0) lookAgain = setTimeout(look, unblockMs)
  const isBlocked = ({ name, status }: ListedWorker): boolean => status === 'blocked' && !asking.has(name)
  const all: Need[] = [
    ...approvals.value.map(approvalOf),
    ...[...workers.values()].filter(isBlocked).map(blockedOf),
    ...owed.map(questionOf),
    ...[...workers.values()].filter(hasFailed).map(failedOf),
    ...mentionsOf([...told.values()].filter(({ id }) => !questions.has(id))),
  ]
  const rank: Need['kind'][] = ['approval', 'blocked', 'question', 'failed', 'mention']
  all.sort((a, b) => rank.indexOf(a.kind) - rank.indexOf(b.kind) || a.since.localeCompare(b.since))
  const shown = all.filter(({ key }) => !isPutOff(key))
  snoozed.set(all.filter(({ key }) => isPutOff(key) && Number.isFinite(putOff.value.get(key))).length)
  if (!isSame(shown, needs.value)) needs.set(shown)
}

const isSame = (a: readonly Need[], b: readonly Need[]): boolean =>
  a.length === b.length &&
  a.every(({ key, kind, text }, i) => key === b[i]?.key && kind === b[i]?.kind && text === b[i]?.text)

const approvalOf = (approval: Approval): Need => ({
  key: `approval ${approval.id}`,
  kind: 'approval',
  who: approval.agent,
  text: approval.digest,
  since: approval.since,
  approval,
})

/** All of it from one answer of the daemon: with parts of two, one dialog would be two rows while it opens. */
const blockedOf = ({ id, name, reason, changedAt }: ListedWorker): Need => ({
  key: `blocked ${id} ${changedAt}`,
  kind: 'blocked',
  who: name,
  text: reason ?? 'a dialog is open',
  since: changedAt,
})

/** By itself: one that was released has done what it was for. A program that a signal ended has no code. */
function hasFailed({ status, code, reason = '', changedAt }: ListedWorker): boolean {
  if (status !== 'exited' || Date.now() - Date.parse(changedAt) > failedForMs) return false
  return code === undefined ? / signal \d/.test(reason) : code !== 0
}

const failedOf = ({ id, name, reason, code, changedAt }: ListedWorker): Need => ({
  key: `failed ${id}`,
  kind: 'failed',
  who: name,
  text: reason ?? `it ended with code ${code}`,
  since: changedAt,
})

const questionOf = (message: Message): Need => ({
  key: message.id,
  kind: 'question',
  who: message.from,
  text: message.body,
  since: message.ts,
  message,
})

/** One for each conversation: who writes ten messages in a row needs the person once. */
function mentionsOf(messages: readonly Message[]): Need[] {
  const byPlace = new Map<string, Message[]>()
  for (const message of [...messages].sort((a, b) => a.seq - b.seq)) {
    const place = conversationOf(message)
    byPlace.set(place, [...(byPlace.get(place) ?? []), message])
  }
  return [...byPlace].map(([place, said]) => {
    const [first, last] = [said[0] as Message, said.at(-1) as Message]
    return { ...questionOf(last), key: `told ${place}`, kind: 'mention', since: first.ts, count: said.length }
  })
}

const textChars = 120

function announce({ type, fact, message }: RelayEvent): void {
  if (!mayAnnounce()) return
  if (type === 'worker.changed' && fact.status === 'blocked')
    notify(`${fact.worker} is blocked`, fact.reason ?? 'a dialog is open', `#/agent/${fact.worker}/terminal`)
  // A dialog on a screen has been told of as a blocked worker.
  if (type === 'approval.opened' && fact.tool !== 'dialog')
    notify(`${fact.agent} ${wishOf(fact).wants}`, fact.input.slice(0, textChars), '#/now')
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
