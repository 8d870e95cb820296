// Promise one lives here: what is handed out, to whom, and when it counts as read.
//
//   stored  → offered | read
//   offered → offered again | read
//
// An offer by a held route is a lease: it hides the message from the agent's other sessions until `until`, or until its session is
// gone. A lease that nobody honours needs no fact to end: the next taker sees that it is over. Nothing read is ever offered again.

import { type Fact, heldRoutes, limits, type ParsedInputOf, type Route } from '@agent-relay/sdk/protocol'
import { enter, unknownChannel } from './channels.ts'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { InboxFilter, ReceiptRow, View, Waiting } from './view.ts'

/** How long a handed-out message stays with its taker: long enough for a model's turn, short enough to notice a dead one. */
export const offerMs = 600_000
/** `more` is counted up to here: beyond it the exact number helps nobody and counting costs. */
export const moreCountMax = 1_000
export const takeDefault = 50

export interface TakeInput extends Omit<ParsedInputOf<'inbox.take'>, 'route' | 'wait'> {
  route?: Route
  /** Deliveries that go on by themselves need no count of what is left. */
  uncounted?: boolean
}

export function take(view: View, command: Command<TakeInput>): Verdict {
  const { input, by } = command
  const { channel } = input
  if (channel !== undefined && view.lastNumber(channel) === undefined) return unknownChannel(view, channel)
  const facts: Fact[] = channel === undefined ? [] : enter(view, by, channel)
  const picked = input.unreadOnly === false ? pickHistory(view, command) : pickUnread(view, command)
  const shown: string[] = []
  for (const { head, receipt } of picked.waiting) {
    if (receipt?.readAt !== undefined) continue
    if (isHeld(command, receipt)) shown.push(head.id)
    else facts.push(offer(command, head.id, takenBy(input.route)))
  }
  const outcome = { messages: picked.waiting.map(({ head }) => head.id), more: picked.more }
  // Looking back shows what was read or is held elsewhere: that is told by the tables, once the offers are in them.
  const found = input.unreadOnly === false ? undefined : picked.waiting
  return record(facts, shown.length > 0 ? { ...outcome, shown } : outcome, undefined, found)
}

/** A hook that has taken has not shown yet, and may be ended before it does: it holds what it took until it says by an offer that it has. */
export function takenBy(route: Route = 'take'): Route {
  return route === 'hook' ? 'take' : route
}

interface Picked {
  waiting: Waiting[]
  more: number
}

function pickUnread(view: View, command: Command<TakeInput>): Picked {
  const { input, by } = command
  const isFree = ({ receipt }: Waiting) =>
    !isHeld(command, receipt) && (input.route !== 'hook' || input.again === true || !isBefore(receipt))
  const room = { ...input, isFirstFree: input.route !== 'hook' }
  return page(view.unread(by, filterOf(input)), room, isFree, input.uncounted)
}

/** It was put before the agent outside any answer: once is enough, or a turn's end would bring it back for ever. */
function isBefore(receipt: ReceiptRow | undefined): boolean {
  return receipt?.route !== undefined && ['hook', 'paste', 'push'].includes(receipt.route)
}

/** The newest that fit, oldest first. What is held is shown too, but stays with its holder: looking back is not taking. */
function pickHistory(view: View, { input, by }: Command<TakeInput>): Picked {
  const { waiting, more } = page(view.received(by, filterOf(input)), input, () => true)
  return { waiting: waiting.reverse(), more }
}

interface Room {
  limit?: number
  bytesMax?: number
  /** One is always handed out, whatever its size. */
  isFirstFree?: boolean
}

/** Takes from `source` up to the limits of a page and counts what did not fit. */
export function page(
  source: Iterable<Waiting>,
  { limit = takeDefault, bytesMax = limits.pageBytesMax, isFirstFree = true }: Room,
  isFree: (waiting: Waiting) => boolean,
  uncounted = false,
): Picked {
  const waiting: Waiting[] = []
  let bytes = 0
  let more = 0
  for (const each of source) {
    if (!isFree(each)) continue
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

export function filterOf(input: { from?: string; channel?: string; thread?: string }): InboxFilter {
  return { from: input.from, conversation: input.channel, thread: input.thread }
}

/** Is it with one of the agent's live sessions just now? */
export function isHeld(
  { at, world }: Pick<Command<unknown>, 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): boolean {
  return holderOf({ at, world }, receipt) !== undefined
}

function holderOf(
  { at, world }: Pick<Command<unknown>, 'at' | 'world'>,
  receipt: ReceiptRow | undefined,
): string | undefined {
  if (receipt?.route === undefined || !heldRoutes.includes(receipt.route)) return undefined
  if (receipt.until === undefined || receipt.until <= at) return undefined
  return receipt.session === undefined ? undefined : world.holder(receipt.session)
}

function offer({ by, at, session }: Command<unknown>, message: string, route: Route): Fact {
  const until = heldRoutes.includes(route) ? at + offerMs : undefined
  return { type: 'delivery.offered', message, agent: by, route, session, until }
}

export interface OfferInput {
  messages: string[]
  route: Route
}

/** Puts certain messages before the agent: a reply that ended a wait, a push, a paste. What was read meanwhile is left alone. */
export function offerThese(view: View, command: Command<OfferInput>): Verdict {
  const facts: Fact[] = []
  for (const id of command.input.messages) {
    const message = view.message(id)
    if (!message || !view.isRecipient(command.by, message)) return refuse('message.not-yours', { message: id })
    const receipt = view.receipt(command.by, message)
    const holder = holderOf(command, receipt)
    // A push must not free what another session was handed. The end of a wait takes it over: the reply is owed to its waiter.
    const isElsewhere = holder !== undefined && holder !== command.session && !heldRoutes.includes(command.input.route)
    if (receipt?.readAt === undefined && !isElsewhere) facts.push(offer(command, id, command.input.route))
  }
  return record(facts, { offered: facts.length })
}

export interface LetGoInput {
  messages: string[]
}

/** What went with an answer that was lost. Only what this session still holds: another may have been handed it since. */
export function letGo(view: View, command: Command<LetGoInput>): Verdict {
  const facts: Fact[] = []
  for (const id of command.input.messages) {
    const message = view.message(id)
    const receipt = message && view.receipt(command.by, message)
    if (receipt?.readAt !== undefined || receipt?.session !== command.session || receipt?.until === undefined) continue
    facts.push({ type: 'delivery.released', message: id, agent: command.by })
  }
  return record(facts)
}

export function markRead(view: View, { input, by }: Command<ParsedInputOf<'inbox.read'>>): Verdict {
  const ids = new Set<string>()
  for (const id of input.messages ?? []) {
    const message = view.message(id)
    if (!message) return refuse('message.unknown', { message: id })
    if (!view.isRecipient(by, message)) return refuse('message.not-yours', { message: id })
    if (view.receipt(by, message)?.readAt === undefined) ids.add(id)
  }
  if (input.thread !== undefined) for (const { head } of view.unread(by, { thread: input.thread })) ids.add(head.id)
  const facts = [...ids].map((message): Fact => ({ type: 'delivery.read', message, agent: by }))
  return record(facts, { read: facts.length })
}
