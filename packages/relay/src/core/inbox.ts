// Rules of the inbox: which messages are handed out, to which session, and when a message counts as read.
//
//   stored  → offered | read
//   offered → offered again | read
//
// An offer by one of `heldRoutes` is also a hold: it hides the message from the agent's other sessions until the time `until`, or until the session that holds
// it is gone. No fact ends an abandoned hold: the next session that takes messages sees that the hold is over. A read message is never offered again. A hook
// may be killed between taking a message and showing it. A hook therefore only holds the message, without an offer, until it reports by an offer that it has
// shown the message.

import {
  type Fact,
  heldRoutes,
  limits,
  type ParsedInputOf,
  type Route,
  routesOutsideTools,
} from '@agent-relay/sdk/protocol'
import { enterChannelFacts, refuseUnknownChannel } from './channels.ts'
import { isPartyTo } from './sight.ts'
import type { Steps } from './steps.ts'
import { type Command, type Refused, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { InboxFilter, ReceiptRow, ScanProgress, View, WaitingMessage } from './view.ts'

/** How long a handed-out message stays with the session that took it: long enough for a model's turn, short enough to notice a dead session. */
export const messageHoldMs = 600_000
/** The highest value of `more`, the count of further messages: beyond it the exact number helps nobody, and counting costs time. */
export const moreCountMax = 1_000
export const takeCountDefault = 50
/** The most rows that a rule may pass over in a search, since every other caller waits during a commit. */
const rowsPassedMax = 1_000
/** The most messages that one command marks as read. */
export const markReadMax = 1_000

export interface TakeInput extends Omit<ParsedInputOf<'inbox.take'>, 'route' | 'wait'> {
  route?: Route
  /** Whether to leave out the count of further messages. A session that follows its inbox does not need it, since it gets them all. */
  uncounted?: boolean
  /** The number of a journal entry: only messages of later entries are taken. */
  after?: number
  /** Whether a hook gets at least one message, whatever its size, because no other route could show a longer one. For the route `hook` only. */
  oneAtLeast?: boolean
  /** Messages that were found before the command, because finding them takes long. Those read or handed out since then are left out. */
  found?: PickedMessages
}

/** The outcome of a rule that would take too long and has changed nothing. Its caller then finds the messages first, and gives the command again with them. */
const unfinished = { isUnfinished: true }

export function takeMessages(view: View, command: Command<TakeInput>): Verdict {
  const { input, by } = command
  const { channel } = input
  if (channel !== undefined && view.lastNumber(channel) === undefined) return refuseUnknownChannel(view, channel)
  const unseen = refuseUnseenBefore(view, by, input)
  if (unseen) return unseen
  // Brings the agent into the channel. Where machines share the workspace, the shared journal has recorded this before the command: see cluster/local-lane.ts.
  const facts: Fact[] =
    channel === undefined || command.world.machine !== undefined ? [] : enterChannelFacts(view, by, channel)
  const progress = { rowsPassed: 0 }
  const picked = input.found
    ? stillWaiting(view, command, input.found)
    : runBounded(progress, pickMessages(view, command, progress))
  if (!picked) return recordFacts([], unfinished)
  const shown: string[] = []
  for (const { head, receipt } of picked.waiting) {
    if (receipt?.readAt !== undefined) continue
    if (isHeldBySession(command, receipt)) shown.push(head.id)
    else facts.push(input.route === 'hook' ? hold(command, head.id) : offer(command, head.id, input.route ?? 'take'))
  }
  const outcome = { messages: picked.waiting.map(({ head }) => head.id), more: picked.more }
  // A query that includes read messages also shows those that other sessions hold. Its answer therefore reads all receipts from the tables, after the offers
  // are stored, and `found` is left out.
  const found = includesReadMessages(input) ? undefined : picked.waiting
  return recordFacts(facts, shown.length > 0 ? { ...outcome, shown } : outcome, undefined, found)
}

export interface PickedMessages {
  waiting: WaitingMessage[]
  more: number
}

type TakeCommand = Pick<Command<TakeInput>, 'input' | 'by' | 'at' | 'world'>

/** Finds the messages that `inbox.take` hands out. */
export function* pickMessages(view: View, command: TakeCommand, progress?: ScanProgress): Steps<PickedMessages> {
  const { input, by } = command
  if (includesReadMessages(input)) return yield* pickHistory(view, command, progress)
  const isFree = ({ receipt }: WaitingMessage) => isFreeFor(command, receipt)
  const room = { ...input, isFirstFree: input.route !== 'hook' || input.oneAtLeast === true }
  return yield* pickPage(view.inbox.unread(by, inboxFilterOf(view, input), progress), room, isFree, {
    progress,
    uncounted: input.uncounted,
  })
}

function isFreeFor(command: TakeCommand, receipt: ReceiptRow | undefined): boolean {
  if (isHeldBySession(command, receipt)) return false
  if (command.input.route !== 'hook' || isUnknownToSession(command.input, receipt)) return true
  return !wasShownOutsideTool(receipt) && !isAnswered(command, receipt)
}

/**
 * Whether a session that is still connected was handed the message in the answer to a call, however long ago: the session's model may work for an hour without
 * a call.
 */
function isAnswered({ by, world }: TakeCommand, receipt: ReceiptRow | undefined): boolean {
  const { route, session } = receipt ?? {}
  return route !== undefined && session !== undefined && world.liveSession(session, by) !== undefined
}

/**
 * Whether a session that asks `again` does not know the message, because it was shown before the session began. One that was offered since may have come from
 * another hook of the same session, since hooks run at the same time.
 */
function isUnknownToSession(
  { again, begun = Number.POSITIVE_INFINITY }: TakeInput,
  receipt: ReceiptRow | undefined,
): boolean {
  return again === true && (receipt?.offeredAt ?? 0) < begun
}

/** Returns the messages found earlier with their present receipts, without those that were read or handed out since. */
function stillWaiting(view: View, command: Command<TakeInput>, { waiting, more }: PickedMessages): PickedMessages {
  const { input, by } = command
  const now = waiting.map((each) => ({ ...each, receipt: view.receipt(by, each.head) }))
  const isFree = ({ receipt }: WaitingMessage) => receipt?.readAt === undefined && isFreeFor(command, receipt)
  return { waiting: includesReadMessages(input) ? now : now.filter(isFree), more }
}

/** Runs a read to its end. Undefined if the read has to pass over too many rows. */
function runBounded<T>(progress: ScanProgress, steps: Steps<T>): T | undefined {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (progress.rowsPassed > rowsPassedMax) return undefined
  }
}

/** Whether the message was shown to the agent outside a tool's answer, as by a hook. Once is enough: otherwise each end of a turn would show it again. */
function wasShownOutsideTool(receipt: ReceiptRow | undefined): boolean {
  return receipt?.route !== undefined && routesOutsideTools.includes(receipt.route)
}

/** Finds the newest messages that fit, oldest first. Includes messages that other sessions hold, and leaves them held: this query takes nothing from them. */
function* pickHistory(view: View, { input, by }: TakeCommand, progress?: ScanProgress): Steps<PickedMessages> {
  const source = view.inbox.received(by, inboxFilterOf(view, input), progress)
  const { waiting, more } = yield* pickPage(source, input, () => true)
  return { waiting: waiting.reverse(), more }
}

interface PageSize {
  limit?: number
  bytesMax?: number
  /** Whether the first free message is handed out whatever its size. */
  isFirstFree?: boolean
}

/** Takes messages from `source` up to the limits of a page and counts the rest. Pauses at each message, and wherever `source` pauses. */
export function* pickPage(
  source: Iterable<WaitingMessage | undefined>,
  { limit = takeCountDefault, bytesMax = limits.pageBytesMax, isFirstFree = true }: PageSize,
  isFree: (waiting: WaitingMessage) => boolean,
  { progress, uncounted = false }: { progress?: ScanProgress; uncounted?: boolean } = {},
): Steps<PickedMessages> {
  const waiting: WaitingMessage[] = []
  let bytes = 0
  let more = 0
  for (const each of source) {
    yield
    if (!each) continue
    if (!isFree(each)) {
      if (progress) progress.rowsPassed++
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

type InboxQuery = Pick<TakeInput, 'from' | 'channel' | 'thread' | 'unreadOnly' | 'before' | 'after'>

/** Whether the query includes messages that were read. Such a query takes the newest messages first. */
export function includesReadMessages({ unreadOnly, before }: InboxQuery): boolean {
  return unreadOnly === false || before !== undefined
}

export function inboxFilterOf(view: View, { from, channel, thread, before, after }: InboxQuery): InboxFilter {
  return {
    from,
    conversation: channel,
    thread,
    afterSeq: after,
    beforeSeq: before === undefined ? undefined : view.message(before)?.seq,
  }
}

/** Refuses a page of the inbox that begins before a message which the reader may not see. */
export function refuseUnseenBefore(view: View, by: string, { before }: InboxQuery): Refused | undefined {
  const message = before === undefined ? undefined : view.message(before)
  if (before === undefined || (message && isPartyTo(view, by, message))) return undefined
  return refuse('message.unknown', { message: before })
}

/** Whether one of the agent's live sessions holds the message now, so that the agent's other sessions do not get it. */
export function isHeldBySession(
  asked: Pick<Command<unknown>, 'by' | 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): boolean {
  return holderOf(asked, receipt) !== undefined
}

function holderOf(
  { by, at, world }: Pick<Command<unknown>, 'by' | 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): string | undefined {
  // A hold with more time left than the maximum was made before the clock was set back. It counts as over: otherwise it might last for years.
  if (receipt?.until === undefined || receipt.until <= at || receipt.until > at + messageHoldMs) return undefined
  return receipt.session === undefined ? undefined : world.liveSession(receipt.session, by)
}

function offer({ by, at, session }: Command<unknown>, message: string, route: Route): Fact {
  const until = heldRoutes.includes(route) ? at + messageHoldMs : undefined
  return { type: 'delivery.offered', message, agent: by, route, session, until }
}

function hold({ by, at, session }: Command<unknown>, message: string): Fact {
  return { type: 'delivery.held', message, agent: by, session, until: at + messageHoldMs }
}

export interface OfferMessagesInput {
  messages: string[]
  route: Route
}

/** Offers certain messages to the agent: a reply that ended a wait, or messages that were pushed or pasted. Skips messages that were read meanwhile. */
export function offerMessages(view: View, command: Command<OfferMessagesInput>): Verdict {
  const facts: Fact[] = []
  for (const id of command.input.messages) {
    const message = view.message(id)
    if (!message || !view.isRecipient(command.by, message)) return refuse('message.not-yours', { message: id })
    const receipt = view.receipt(command.by, message)
    const holder = holderOf(command, receipt)
    // Showing a message unasked, by a push for example, must not end another session's hold on it. A wait for a reply takes the hold over, since the reply
    // belongs to the session that waits.
    const isElsewhere = holder !== undefined && holder !== command.session && !heldRoutes.includes(command.input.route)
    if (receipt?.readAt === undefined && !isElsewhere) facts.push(offer(command, id, command.input.route))
  }
  return recordFacts(facts, { offered: facts.length })
}

export interface HeldMessagesInput {
  messages: string[]
}

/** Frees the messages of a call whose answer was lost on its way to the session, so that they can be handed out again. */
export function releaseHolds(view: View, command: Command<HeldMessagesInput>): Verdict {
  const release = (message: string): Fact => ({ type: 'delivery.released', message, agent: command.by })
  return recordFacts(stillHeld(view, command).map(release))
}

/** Extends the hold on messages that the agent has not been shown yet. */
export function extendHolds(view: View, command: Command<HeldMessagesInput>): Verdict {
  return recordFacts(stillHeld(view, command).map((id) => hold(command, id)))
}

/** Returns the messages that the command's session still holds: some may have been handed to another session since. */
function stillHeld(view: View, { input, by, session }: Command<HeldMessagesInput>): string[] {
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
  const progress = { rowsPassed: 0 }
  const ofThread =
    found?.messages ??
    (thread === undefined
      ? []
      : runBounded(progress, unreadInThread(view, by, thread, { progress, max: markReadMax + 1 })))
  if (!ofThread || ofThread.length > markReadMax) return recordFacts([], unfinished)
  for (const id of ofThread) if (!isRead(view, by, id)) ids.add(id)
  const facts = [...ids].map((message): Fact => ({ type: 'delivery.read', message, agent: by }))
  return recordFacts(facts, { read: facts.length + (found?.marked ?? 0) })
}

/** Finds the unread messages of a thread, at most `max`. */
export function* unreadInThread(
  view: View,
  by: string,
  thread: string,
  { progress, max = Number.POSITIVE_INFINITY }: { progress?: ScanProgress; max?: number } = {},
): Steps<string[]> {
  const ids: string[] = []
  for (const each of view.inbox.unread(by, { thread }, progress)) {
    yield
    if (each && ids.push(each.head.id) >= max) break
  }
  return ids
}

function isRead(view: View, by: string, id: string): boolean {
  const message = view.message(id)
  return message !== undefined && view.receipt(by, message)?.readAt !== undefined
}
