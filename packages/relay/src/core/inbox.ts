// The inbox: which messages are handed out, to whom, and when a message counts as read.
//
//   stored  → offered | read
//   offered → offered again | read
//
// An offer by a held route is a lease: it hides the message from the agent's other sessions until `until`, or until its session is gone. An abandoned
// lease needs no fact to end: the next taker sees that it is over. Nothing read is ever offered again. A hook may be killed between taking a message
// and showing it. It therefore holds the message, a lease without an offer, until it reports by an offer that it has shown the message.

import { type Fact, heldRoutes, limits, outsideRoutes, type ParsedInputOf, type Route } from '@agent-relay/sdk/protocol'
import { enter, unknownChannel } from './channels.ts'
import { isPartyTo } from './sight.ts'
import type { Steps } from './steps.ts'
import { type Command, type Refused, record, refuse, type Verdict } from './verdict.ts'
import type { InboxFilter, Look, ReceiptRow, View, Waiting } from './view.ts'

/** Time for which a handed-out message stays with its taker: long enough for a model's turn, short enough to notice a dead one. */
export const offerMs = 600_000
/** The highest count in `more`: beyond it the exact number helps nobody, and counting costs. */
export const moreCountMax = 1_000
export const takeDefault = 50
/** The most rows that a rule looks through, since a commit keeps everybody waiting. */
const passedMax = 1_000
/** The most messages that one command marks as read. */
export const readMax = 1_000

export interface TakeInput extends Omit<ParsedInputOf<'inbox.take'>, 'route' | 'wait'> {
  route?: Route
  /** Leaves out the count of further messages, which deliveries that go on by themselves do not need. */
  uncounted?: boolean
  /** Only messages after this entry. */
  after?: number
  /** With the route `hook`: one message is handed out whatever its size, since no other way has more room. */
  oneAtLeast?: boolean
  /** Messages that were found before the command, where finding them takes long. Those read or handed out since then are left out. */
  found?: Picked
}

/** The outcome of a rule that would take too long and has changed nothing: the caller finds the messages first, and asks again with them. */
const unfinished = { isUnfinished: true }

export function take(view: View, command: Command<TakeInput>): Verdict {
  const { input, by } = command
  const { channel } = input
  if (channel !== undefined && view.lastNumber(channel) === undefined) return unknownChannel(view, channel)
  const unseen = unseenBefore(view, by, input)
  if (unseen) return unseen
  // Where machines share the workspace, all of them decide on entering the channel, before this: see cluster/local-lane.ts.
  const facts: Fact[] = channel === undefined || command.world.machine !== undefined ? [] : enter(view, by, channel)
  const look = { passed: 0 }
  const picked = input.found ? stillThere(view, command, input.found) : within(look, pick(view, command, look))
  if (!picked) return record([], unfinished)
  const shown: string[] = []
  for (const { head, receipt } of picked.waiting) {
    if (receipt?.readAt !== undefined) continue
    if (isHeld(command, receipt)) shown.push(head.id)
    else facts.push(input.route === 'hook' ? hold(command, head.id) : offer(command, head.id, input.route ?? 'take'))
  }
  const outcome = { messages: picked.waiting.map(({ head }) => head.id), more: picked.more }
  // Looking back also shows messages that were read or are held elsewhere. The answer reads their receipts from the tables, once the offers are
  // stored.
  const found = looksBack(input) ? undefined : picked.waiting
  return record(facts, shown.length > 0 ? { ...outcome, shown } : outcome, undefined, found)
}

export interface Picked {
  waiting: Waiting[]
  more: number
}

type Taking = Pick<Command<TakeInput>, 'input' | 'by' | 'at' | 'world'>

/** The messages that a take hands out now. */
export function* pick(view: View, command: Taking, look?: Look): Steps<Picked> {
  const { input, by } = command
  if (looksBack(input)) return yield* pickHistory(view, command, look)
  const isFree = ({ receipt }: Waiting) => isFreeFor(command, receipt)
  const room = { ...input, isFirstFree: input.route !== 'hook' || input.oneAtLeast === true }
  return yield* pageSteps(view.unread(by, filterOf(view, input), look), room, isFree, {
    look,
    uncounted: input.uncounted,
  })
}

function isFreeFor(command: Taking, receipt: ReceiptRow | undefined): boolean {
  if (isHeld(command, receipt)) return false
  if (command.input.route !== 'hook' || isForgotten(command.input, receipt)) return true
  return !isBefore(receipt) && !isAnswered(command, receipt)
}

/**
 * Whether the answer to a call has carried the message to a session that is still there, however long ago: its model may work for an hour without a
 * call.
 */
function isAnswered({ by, world }: Taking, receipt: ReceiptRow | undefined): boolean {
  const { route, session } = receipt ?? {}
  return route !== undefined && session !== undefined && world.holder(session, by) !== undefined
}

/**
 * Whether the message was shown before the session that asks `again` had begun, so that its model does not know it. A later offer may come from
 * another hook of the same session, since hooks run at once.
 */
function isForgotten({ again, begun = Number.POSITIVE_INFINITY }: TakeInput, receipt: ReceiptRow | undefined): boolean {
  return again === true && (receipt?.offeredAt ?? 0) < begun
}

/** The messages found before, with their receipts of now: they may have been read or handed out since. */
function stillThere(view: View, command: Command<TakeInput>, { waiting, more }: Picked): Picked {
  const { input, by } = command
  const now = waiting.map((each) => ({ ...each, receipt: view.receipt(by, each.head) }))
  const isFree = ({ receipt }: Waiting) => receipt?.readAt === undefined && isFreeFor(command, receipt)
  return { waiting: looksBack(input) ? now : now.filter(isFree), more }
}

/** Takes all steps, unless that means looking through too many rows. */
function within<T>(look: Look, steps: Steps<T>): T | undefined {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (look.passed > passedMax) return undefined
  }
}

/** Whether the message was shown to the agent outside a tool's answer. Once is enough: otherwise each end of a turn would show it again. */
function isBefore(receipt: ReceiptRow | undefined): boolean {
  return receipt?.route !== undefined && outsideRoutes.includes(receipt.route)
}

/** The newest messages that fit, oldest first. Messages held by other sessions are shown too, but stay with their holder: looking back is not taking. */
function* pickHistory(view: View, { input, by }: Taking, look?: Look): Steps<Picked> {
  const source = view.received(by, filterOf(view, input), look)
  const { waiting, more } = yield* pageSteps(source, input, () => true)
  return { waiting: waiting.reverse(), more }
}

interface PageSize {
  limit?: number
  bytesMax?: number
  /** At least one message is handed out, whatever its size. */
  isFirstFree?: boolean
}

/** Takes messages from `source` up to the limits of a page and counts the rest. It pauses at each message, and wherever the source does. */
export function* pageSteps(
  source: Iterable<Waiting | undefined>,
  { limit = takeDefault, bytesMax = limits.pageBytesMax, isFirstFree = true }: PageSize,
  isFree: (waiting: Waiting) => boolean,
  { look, uncounted = false }: { look?: Look; uncounted?: boolean } = {},
): Steps<Picked> {
  const waiting: Waiting[] = []
  let bytes = 0
  let more = 0
  for (const each of source) {
    yield
    if (!each) continue
    if (!isFree(each)) {
      if (look) look.passed++
      continue
    }
    const isAlways = isFirstFree && waiting.length === 0
    const full = waiting.length >= limit || (!isAlways && bytes + each.bodyBytes > bytesMax)
    if (more > 0 || full) {
      if (++more >= moreCountMax || uncounted) break
    } else {
      waiting.push(each)
      bytes += each.bodyBytes
    }
  }
  return { waiting, more }
}

type Asked = Pick<TakeInput, 'from' | 'channel' | 'thread' | 'unreadOnly' | 'before' | 'after'>

/** Whether the query includes messages that were read; it then takes the newest first. */
export function looksBack({ unreadOnly, before }: Asked): boolean {
  return unreadOnly === false || before !== undefined
}

export function filterOf(view: View, { from, channel, thread, before, after }: Asked): InboxFilter {
  return {
    from,
    conversation: channel,
    thread,
    afterSeq: after,
    beforeSeq: before === undefined ? undefined : view.message(before)?.seq,
  }
}

/** Refuses a page that begins before a message which the reader may not see. */
export function unseenBefore(view: View, by: string, { before }: Asked): Refused | undefined {
  const message = before === undefined ? undefined : view.message(before)
  if (before === undefined || (message && isPartyTo(view, by, message))) return undefined
  return refuse('message.unknown', { message: before })
}

/** Whether one of the agent's live sessions holds the message now. */
export function isHeld(asked: Pick<Command<unknown>, 'by' | 'at' | 'world'>, receipt: ReceiptRow | undefined): boolean {
  return holderOf(asked, receipt) !== undefined
}

function holderOf(
  { by, at, world }: Pick<Command<unknown>, 'by' | 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): string | undefined {
  // A hold that ends later than any can was made before the clock was set back. It counts as over: otherwise it might last for years.
  if (receipt?.until === undefined || receipt.until <= at || receipt.until > at + offerMs) return undefined
  return receipt.session === undefined ? undefined : world.holder(receipt.session, by)
}

function offer({ by, at, session }: Command<unknown>, message: string, route: Route): Fact {
  const until = heldRoutes.includes(route) ? at + offerMs : undefined
  return { type: 'delivery.offered', message, agent: by, route, session, until }
}

function hold({ by, at, session }: Command<unknown>, message: string): Fact {
  return { type: 'delivery.held', message, agent: by, session, until: at + offerMs }
}

export interface OfferTheseInput {
  messages: string[]
  route: Route
}

/** Offers certain messages to the agent: a reply that ended a wait, a push, a paste. Messages read meanwhile are left alone. */
export function offerThese(view: View, command: Command<OfferTheseInput>): Verdict {
  const facts: Fact[] = []
  for (const id of command.input.messages) {
    const message = view.message(id)
    if (!message || !view.isRecipient(command.by, message)) return refuse('message.not-yours', { message: id })
    const receipt = view.receipt(command.by, message)
    const holder = holderOf(command, receipt)
    // A push must not free a message that another session was handed. The end of a wait takes it over: the reply is owed to its waiter.
    const isElsewhere = holder !== undefined && holder !== command.session && !heldRoutes.includes(command.input.route)
    if (receipt?.readAt === undefined && !isElsewhere) facts.push(offer(command, id, command.input.route))
  }
  return record(facts, { offered: facts.length })
}

export interface HeldInput {
  messages: string[]
}

/** Frees the messages of an answer that was lost on its way. */
export function letGo(view: View, command: Command<HeldInput>): Verdict {
  const release = (message: string): Fact => ({ type: 'delivery.released', message, agent: command.by })
  return record(stillHeld(view, command).map(release))
}

/** Extends the hold on messages that have not been put before the agent yet. */
export function keep(view: View, command: Command<HeldInput>): Verdict {
  return record(stillHeld(view, command).map((id) => hold(command, id)))
}

/** The messages that the command's session still holds: others may have been handed to somebody else since. */
function stillHeld(view: View, { input, by, session }: Command<HeldInput>): string[] {
  return input.messages.filter((id) => {
    const message = view.message(id)
    const receipt = message && view.receipt(by, message)
    return receipt?.readAt === undefined && receipt?.session === session && receipt?.until !== undefined
  })
}

export interface ReadInput extends ParsedInputOf<'inbox.read'> {
  /** The thread's messages, found before the command where that takes long, and the number that the other commands of the same call have marked. */
  found?: { messages: string[]; marked: number }
}

export function markRead(view: View, { input, by }: Command<ReadInput>): Verdict {
  const ids = new Set<string>()
  for (const id of input.messages ?? []) {
    const message = view.message(id)
    if (!message) return refuse('message.unknown', { message: id })
    if (!view.isRecipient(by, message)) return refuse('message.not-yours', { message: id })
    if (view.receipt(by, message)?.readAt === undefined) ids.add(id)
  }
  const { thread, found } = input
  const look = { passed: 0 }
  const ofThread =
    found?.messages ??
    (thread === undefined ? [] : within(look, unreadOf(view, by, thread, { look, max: readMax + 1 })))
  if (!ofThread || ofThread.length > readMax) return record([], unfinished)
  for (const id of ofThread) if (!isRead(view, by, id)) ids.add(id)
  const facts = [...ids].map((message): Fact => ({ type: 'delivery.read', message, agent: by }))
  return record(facts, { read: facts.length + (found?.marked ?? 0) })
}

/** The unread messages of a thread, up to `max`. */
export function* unreadOf(
  view: View,
  by: string,
  thread: string,
  { look, max = Number.POSITIVE_INFINITY }: { look?: Look; max?: number } = {},
): Steps<string[]> {
  const ids: string[] = []
  for (const each of view.unread(by, { thread }, look)) {
    yield
    if (each && ids.push(each.head.id) >= max) break
  }
  return ids
}

function isRead(view: View, by: string, id: string): boolean {
  const message = view.message(id)
  return message !== undefined && view.receipt(by, message)?.readAt !== undefined
}
