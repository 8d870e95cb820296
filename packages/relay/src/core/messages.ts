// Rules for sending messages and reactions: who gets a message, which thread it belongs to, and when two agents talk too fast.

import { ChannelName, daemonName, type Fact, issuesText, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { newAgentFacts, refuseUnknownAgent } from './agents.ts'
import { enterChannelFacts, refuseUnknownChannel } from './channels.ts'
import { addressOf, broadcast, directKey, directMembers, isChannel } from './conversations.ts'
import { personNotRegisteredYet } from './handles.ts'
import { isPartyTo } from './sight.ts'
import { type Command, type Refused, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { View } from './view.ts'

export interface SendInput extends Omit<ParsedInputOf<'message.send'>, 'to'> {
  to: string | string[]
  /** The most messages that a pair of agents may exchange in a minute. Unset for programs and people. */
  pairPerMinuteMax?: number
}

const minuteMs = 60_000

export function send(view: View, command: Command<SendInput>): Verdict {
  const { input, by, mint } = command
  const target = resolveTarget(view, command)
  if ('refusal' in target) return target
  const place = placeInThread(view, by, input)
  if ('refusal' in place) return place
  const { conversation, opening } = target
  const lastN = view.lastNumber(conversation) ?? 0
  const tooFast = refuseTooFast(view, command, conversation, lastN)
  if (tooFast) return tooFast
  const created: Fact = {
    type: 'message.created',
    id: mint,
    conversation,
    n: lastN + 1,
    from: by,
    kind: input.kind ?? 'free',
    ...place,
  }
  return { facts: [...opening, created], outcome: { id: mint, to: addressOf(conversation, by) }, body: input.body }
}

type Target = { conversation: string; opening: Fact[] } | Refused

function resolveTarget(view: View, command: Command<SendInput>): Target {
  const { input, by } = command
  const { to, create } = input
  if (typeof to === 'string' && to === broadcast) return { conversation: broadcast, opening: [] }
  if (typeof to === 'string' && isChannel(to)) {
    // An agent of another workspace, or the daemon itself, may send to a channel but has no inbox here: it does not join, and makes no channel.
    const isOneOfUs = view.agent(by) !== undefined
    if (view.lastNumber(to) === undefined) {
      if (!create || !isOneOfUs) return refuseUnknownChannel(view, to, isOneOfUs)
      const name = ChannelName.safeParse(to)
      if (!name.success)
        return refuse('input.invalid', { operation: 'message.send', why: issuesText(name.error.issues) })
    }
    return { conversation: to, opening: isOneOfUs ? enterChannelFacts(view, by, to) : [] }
  }
  const others = (typeof to === 'string' ? [to] : to).filter((name) => name !== by)
  if (others.length === 0) return refuse('message.to-self')
  const unknown = [...new Set(others)].filter((name) => !view.agent(name))
  const person = unknown.length > 0 ? personNotRegisteredYet(view, command.world) : undefined
  const stranger = unknown.find((name) => name !== person)
  if (stranger !== undefined) return refuseUnknownAgent(view, stranger)
  const conversation = directKey([by, ...others])
  if (view.lastNumber(conversation) !== undefined) return { conversation, opening: [] }
  const members = directMembers(conversation)
  const met = person === undefined ? [] : personFacts(view, command, person)
  return { conversation, opening: [...met, { type: 'conversation.opened', conversation, members }] }
}

/** Makes this machine's person known in a workspace where somebody writes to them before their first visit. The person's id is made from the message's. */
function personFacts(view: View, { mint, world }: Command<SendInput>, name: string): Fact[] {
  return newAgentFacts(view, { mint: mint.replace(/^[^_]*/, 'a'), world }, { name, type: 'human' })
}

/**
 * Returns the address of a reply that names no recipient: the conversation of the answered message. A reply to a broadcast goes to the broadcast's sender, or
 * everybody would get every answer.
 */
export function addressOfReply(view: View, by: string, replyTo: string): { to: string | string[] } | Refused {
  const parent = view.message(replyTo)
  if (!parent || !isPartyTo(view, by, parent)) return refuse('message.unknown', { message: replyTo })
  const { conversation, from } = parent
  return { to: conversation === broadcast && from !== by ? from : addressOf(conversation, by) }
}

type ThreadPlace = { thread?: string; replyTo?: string } | Refused

/**
 * Finds the thread of a message. A reply belongs to the thread of the message that it answers. If `thread` is a message's id, the new message is a reply to
 * that message.
 */
function placeInThread(view: View, by: string, { thread, replyTo }: SendInput): ThreadPlace {
  const answered = replyTo ?? thread
  if (answered === undefined) return {}
  const parent = view.message(answered)
  if (parent && isPartyTo(view, by, parent)) return { thread: parent.thread ?? parent.id, replyTo: parent.id }
  return replyTo === undefined ? { thread: answered } : refuse('message.unknown', { message: replyTo })
}

/** Refuses a message if its pair or group has exchanged `limit` messages in the last minute: this stops two models that thank each other forever. */
function refuseTooFast(
  view: View,
  { input, at, by }: Command<SendInput>,
  conversation: string,
  lastN: number,
): Refused | undefined {
  const limit = input.pairPerMinuteMax
  if (limit === undefined || directMembers(conversation).length === 0 || by === daemonName) return undefined
  const earlier = lastN >= limit ? view.sentAt(conversation, lastN - limit + 1) : undefined
  // A time in the future was stamped before the clock was set back. Nobody knows how long ago that message was sent, so the new one is not refused.
  if (earlier === undefined || earlier > at || at - earlier >= minuteMs) return undefined
  const seconds = Math.ceil((earlier + minuteMs - at) / 1000)
  return refuse('message.too-many', { count: limit, to: String(addressOf(conversation, by)), seconds })
}

export function react(view: View, { input, by }: Command<ParsedInputOf<'message.react'>>): Verdict {
  const message = view.message(input.message)
  if (!message || !isPartyTo(view, by, message)) return refuse('message.unknown', { message: input.message })
  const { emoji } = input
  const has = view.hasReacted(by, message, emoji)
  const wants = !input.remove
  if (has === wants) return recordFacts([], { message: message.id })
  const type = wants ? 'reaction.added' : 'reaction.removed'
  return recordFacts([{ type, message: message.id, agent: by, emoji }], { message: message.id })
}
