// What counts as an answer to a message, both for senders that wait and for agents that are told later which answers they owe.

import { isPair } from './conversations.ts'

/** A place where an answer may stand: a thread (with `replyTo`, only replies to that message), or the pair that the message was sent in. */
export type AnswerPlace = 'pair' | { thread: string; replyTo?: string }

interface Asked {
  id: string
  conversation: string
  thread?: string
}

/**
 * The places where an answer counts: a reply to the message; a message of the thread that its sender named; or, between two agents and without such a
 * thread, the next direct message. `named`: the sender chose the thread. A reply inherits an older thread, where messages of others need not be
 * answers to it.
 */
export function answerPlaces({ id, conversation, thread }: Asked, named: boolean): AnswerPlace[] {
  const places: AnswerPlace[] = [{ thread: id }]
  if (thread !== undefined) places.push(named ? { thread } : { thread, replyTo: id })
  if (!(named && thread !== undefined) && isPair(conversation)) places.push('pair')
  return places
}
