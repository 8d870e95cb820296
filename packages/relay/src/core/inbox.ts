// Rules of the inbox: which messages are handed out, to which session, and when a message counts as read.
//
//   stored  → offered | read
//   offered → offered again | read
//
// An offer by one of `heldRoutes` is a lease: it hides the message from the agent's other sessions until `until`, or until the session that has the lease
// is gone. No fact ends an abandoned lease: the next session that takes messages sees that the lease is over. A read message is never offered again. A
// hook may be killed between taking a message and showing it. A hook therefore holds the message, by a lease without an offer, until it reports by an
// offer that it has shown the message.

import { type Fact, heldRoutes, limits, outsideRoutes, type ParsedInputOf, type Route } from '@agent-relay/sdk/protocol'
import { enter, unknownChannel } from './channels.ts'
import { isPartyTo } from './sight.ts'
import type { Steps } from './steps.ts'
import { type Command, type Refused, record, refuse, type Verdict } from './verdict.ts'
import type { InboxFilter, Look, ReceiptRow, View, Waiting } from './view.ts'

/** How long a handed-out message stays with the session that took it: long enough for a model's turn, short enough to notice a dead session. */
export const offerMs = 600_000
/** The highest value of `more`, the count of further messages: beyond it the exact number helps nobody, and counting costs time. */
export const moreCountMax = 1_000
export const takeDefault = 50
/** The most rows that a rule may pass over in a search, since every other caller waits during a commit. */
const passedMax = 1_000
/** The most messages that one command marks as read. */
export const readMax = 1_000

export interface TakeInput extends Omit<ParsedInputOf<'inbox.take'>, 'route' | 'wait'> {
  route?: Route
  /** Whether to leave out the count of further messages, which deliveries that go on by themselves do not need. */
  uncounted?: boolean
  /** The number of a journal entry: only messages of later entries are taken. */
  after?: number
  /** Whether a hook gets at least one message, whatever its size, because no other way has more room. For the route `hook` only. */
  oneAtLeast?: boolean
  /** Messages that were found before the command, because finding them takes long. Those read or handed out since then are left out. */
  found?: Picked
}

/** The outcome of a rule that would take too long and has changed nothing. Its caller then finds the messages first, and gives the command again with them. */
const unfinished = { isUnfinished: true }

export function take(view: View, command: Command<TakeInput>): Verdict {
  const { input, by } = command
  const { channel } = input
  if (channel !== undefined && view.lastNumber(channel) === undefined) return unknownChannel(view, channel)
  const unseen = unseenBefore(view, by, input)
  if (unseen) return unseen
  // Where machines share the workspace, the shared journal has recorded the entering of the channel before this command: see cluster/local-lane.ts.
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
  // A look back also shows messages that were read or that other sessions hold. Its answer reads their receipts from the tables, after the offers are stored.
  const found = looksBack(input) ? undefined : picked.waiting
  return record(facts, shown.length > 0 ? { ...outcome, shown } : outcome, undefined, found)
}

export interface Picked {
  waiting: Waiting[]
  more: number
}

type Taking = Pick<Command<TakeInput>, 'input' | 'by' | 'at' | 'world'>

/** Finds the messages that `inbox.take` hands out. */
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
 * Whether the answer to a call has carried the message to a session that is still connected, however long ago: the session's model may work for an hour
 * without a call.
 */
function isAnswered({ by, world }: Taking, receipt: ReceiptRow | undefined): boolean {
  const { route, session } = receipt ?? {}
  return route !== undefined && session !== undefined && world.holder(session, by) !== undefined
}

/**
 * Whether a session that asks `again` does not know the message, because it was shown before the session began. A message offered since then may have
 * come from another hook of the same session, since hooks run at the same time.
 */
function isForgotten({ again, begun = Number.POSITIVE_INFINITY }: TakeInput, receipt: ReceiptRow | undefined): boolean {
  return again === true && (receipt?.offeredAt ?? 0) < begun
}

/** Returns the messages found earlier with their present receipts, without those that were read or handed out since. */
function stillThere(view: View, command: Command<TakeInput>, { waiting, more }: Picked): Picked {
  const { input, by } = command
  const now = waiting.map((each) => ({ ...each, receipt: view.receipt(by, each.head) }))
  const isFree = ({ receipt }: Waiting) => receipt?.readAt === undefined && isFreeFor(command, receipt)
  return { waiting: looksBack(input) ? now : now.filter(isFree), more }
}

/** Runs a read to its end. Undefined if the read has to pass over too many rows. */
function within<T>(look: Look, steps: Steps<T>): T | undefined {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (look.passed > passedMax) return undefined
  }
}

/** Whether the message was shown to the agent outside a tool's answer, as by a hook. Once is enough: otherwise each end of a turn would show it again. */
function isBefore(receipt: ReceiptRow | undefined): boolean {
  return receipt?.route !== undefined && outsideRoutes.includes(receipt.route)
}

/**
 * Finds the newest messages that fit, oldest first. Messages held by other sessions are shown too, but stay with those sessions: looking back is not taking.
 */
function* pickHistory(view: View, { input, by }: Taking, look?: Look): Steps<Picked> {
  const source = view.received(by, filterOf(view, input), look)
  const { waiting, more } = yield* pageSteps(source, input, () => true)
  return { waiting: waiting.reverse(), more }
}

interface PageSize {
  limit?: number
  bytesMax?: number
  /** Whether the first free message is handed out whatever its size. */
  isFirstFree?: boolean
}

/** Takes messages from `source` up to the limits of a page and counts the rest. Pauses at each message, and wherever `source` pauses. */
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

/** Whether the query includes messages that were read. Such a query takes the newest messages first. */
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

/** Refuses a page of the inbox that begins before a message which the reader may not see. */
export function unseenBefore(view: View, by: string, { before }: Asked): Refused | undefined {
  const message = before === undefined ? undefined : view.message(before)
  if (before === undefined || (message && isPartyTo(view, by, message))) return undefined
  return refuse('message.unknown', { message: before })
}

/** Whether one of the agent's live sessions holds the message now, so that the agent's other sessions do not get it. */
export function isHeld(asked: Pick<Command<unknown>, 'by' | 'at' | 'world'>, receipt: ReceiptRow | undefined): boolean {
  return holderOf(asked, receipt) !== undefined
}

function holderOf(
  { by, at, world }: Pick<Command<unknown>, 'by' | 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): string | undefined {
  // A hold that ends later than any new one could was made before the clock was set back. It counts as over: otherwise it might last for years.
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

/** Offers certain messages to the agent: a reply that ended a wait, or messages that were pushed or pasted. Messages read meanwhile are left alone. */
export function offerThese(view: View, command: Command<OfferTheseInput>): Verdict {
  const facts: Fact[] = []
  for (const id of command.input.messages) {
    const message = view.message(id)
    if (!message || !view.isRecipient(command.by, message)) return refuse('message.not-yours', { message: id })
    const receipt = view.receipt(command.by, message)
    const holder = holderOf(command, receipt)
    // A push must not free a message that another session was handed. The end of a wait takes the message over: a reply is owed to the session that waits.
    const isElsewhere = holder !== undefined && holder !== command.session && !heldRoutes.includes(command.input.route)
    if (receipt?.readAt === undefined && !isElsewhere) facts.push(offer(command, id, command.input.route))
  }
  return record(facts, { offered: facts.length })
}

export interface HeldInput {
  messages: string[]
}

/** Frees the messages of a call whose answer was lost on its way to the session, so that they can be handed out again. */
export function letGo(view: View, command: Command<HeldInput>): Verdict {
  const release = (message: string): Fact => ({ type: 'delivery.released', message, agent: command.by })
  return record(stillHeld(view, command).map(release))
}

/** Extends the hold on messages that the agent has not been shown yet. */
export function keep(view: View, command: Command<HeldInput>): Verdict {
  return record(stillHeld(view, command).map((id) => hold(command, id)))
}

/** Returns the messages that the command's session still holds: some may have been handed to another session since. */
function stillHeld(view: View, { input, by, session }: Command<HeldInput>): string[] {
  return input.messages.filter((id) => {
    const message = view.message(id)
    const receipt = message && view.receipt(by, message)
    return receipt?.readAt === undefined && receipt?.session === session && receipt?.until !== undefined
  })
}

export interface ReadInput extends ParsedInputOf<'inbox.read'> {
  /** The thread's messages, found before the command because that takes long, and the number that earlier commands of the same call have marked as read. */
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

/** Finds the unread messages of a thread, at most `max`. */
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
