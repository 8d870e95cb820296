// Sending and reacting: to whom an address leads, what belongs to a thread, and when a pair talks too fast.

import { daemonName, type Fact, type ParsedInputOf } from '@agent-relay/sdk/protocol'
import { unknownAgent } from './agents.ts'
import { enter, unknownChannel } from './channels.ts'
import { addressOf, broadcast, directKey, directMembers, isChannel } from './conversations.ts'
import { type Command, type Refused, record, refuse, type Verdict } from './verdict.ts'
import type { MessageHead, View } from './view.ts'

export interface SendInput extends Omit<ParsedInputOf<'message.send'>, 'wait' | 'to'> {
  to: string | string[]
  /** Messages a pair may exchange in a minute; unset for programs and people. */
  pairPerMinuteMax?: number
}

const minuteMs = 60_000

export function send(view: View, command: Command<SendInput>): Verdict {
  const { input, by, mint } = command
  const target = resolve(view, by, input.to)
  if ('refusal' in target) return target
  const place = placeInThread(view, by, input)
  if ('refusal' in place) return place
  const { conversation, opening } = target
  const lastN = view.lastNumber(conversation) ?? 0
  const tooFast = paceOf(view, command, conversation, lastN)
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
  return record([...opening, created], { id: mint, to: addressOf(conversation, by) }, input.body)
}

type Target = { conversation: string; opening: Fact[] } | Refused

function resolve(view: View, by: string, to: SendInput['to']): Target {
  if (typeof to === 'string' && to === broadcast) return { conversation: broadcast, opening: [] }
  if (typeof to === 'string' && isChannel(to)) {
    if (view.lastNumber(to) === undefined) return unknownChannel(view, to)
    // Someone of another workspace, or the daemon itself, is heard there but has no inbox to be served.
    return { conversation: to, opening: view.agent(by) ? enter(view, by, to) : [] }
  }
  const others = (typeof to === 'string' ? [to] : to).filter((name) => name !== by)
  if (others.length === 0) return refuse('message.to-self')
  for (const name of others) if (!view.agent(name)) return unknownAgent(view, name)
  const conversation = directKey([by, ...others])
  if (view.lastNumber(conversation) !== undefined) return { conversation, opening: [] }
  const members = directMembers(conversation)
  return { conversation, opening: [{ type: 'conversation.opened', conversation, members }] }
}

/** Where a reply goes that names no address: to where the message was said. A broadcast is answered to its sender, or all would hear every answer. */
export function answerAddress(view: View, by: string, replyTo: string): { to: string | string[] } | Refused {
  const parent = view.message(replyTo)
  if (!parent || !canSee(view, by, parent)) return refuse('message.unknown', { message: replyTo })
  const { conversation, from } = parent
  return { to: conversation === broadcast && from !== by ? from : addressOf(conversation, by) }
}

type Place = { thread?: string; replyTo?: string } | Refused

/** A reply belongs to the thread of what it answers; a thread named like a message is a reply to that message. */
function placeInThread(view: View, by: string, { thread, replyTo }: SendInput): Place {
  const answered = replyTo ?? thread
  if (answered === undefined) return {}
  const parent = view.message(answered)
  if (parent && canSee(view, by, parent)) return { thread: parent.thread ?? parent.id, replyTo: parent.id }
  return replyTo === undefined ? { thread: answered } : refuse('message.unknown', { message: replyTo })
}

/** Two models that thank each other for ever: the message `limit` places back must be a minute old. */
function paceOf(
  view: View,
  { input, at, by }: Command<SendInput>,
  conversation: string,
  lastN: number,
): Refused | undefined {
  const limit = input.pairPerMinuteMax
  if (limit === undefined || directMembers(conversation).length === 0 || by === daemonName) return undefined
  const earlier = lastN >= limit ? view.sentAt(conversation, lastN - limit + 1) : undefined
  if (earlier === undefined || at - earlier >= minuteMs) return undefined
  const seconds = Math.ceil((earlier + minuteMs - at) / 1000)
  return refuse('message.too-many', { count: limit, to: String(addressOf(conversation, by)), seconds })
}

export function react(view: View, { input, by }: Command<ParsedInputOf<'message.react'>>): Verdict {
  const message = view.message(input.message)
  if (!message || !canSee(view, by, message)) return refuse('message.unknown', { message: input.message })
  const { emoji } = input
  const has = view.hasReacted(by, message, emoji)
  const wants = !input.remove
  if (has === wants) return record([], { message: message.id })
  const type = wants ? 'reaction.added' : 'reaction.removed'
  return record([{ type, message: message.id, agent: by, emoji }], { message: message.id })
}

export function canSee(view: View, agent: string, message: MessageHead): boolean {
  return message.from === agent || view.isRecipient(agent, message)
}
