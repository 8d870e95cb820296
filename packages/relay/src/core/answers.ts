// What counts as an answer to a message, both for senders that wait and for agents that are told later which answers they owe.

import { isPair } from './conversations.ts'

/** A place where an answer may be found: a thread (with `replyTo`, only replies to that message), or the direct conversation of the two agents. */
export type AnswerPlace = 'pair' | { thread: string; replyTo?: string }

interface AskedMessage {
  id: string
  conversation: string
  thread?: string
}

/**
 * Lists the places where an answer to a message counts: replies to it; messages of the thread that its sender named (`named`); or, between two agents and
 * without such a thread, the next direct message. If the message is in a thread only because it is a reply, just the replies to it count there, since other
 * messages of the thread may answer something else.
 */
export function answerPlaces({ id, conversation, thread }: AskedMessage, named: boolean): AnswerPlace[] {
  const places: AnswerPlace[] = [{ thread: id }]
  if (thread !== undefined) places.push(named ? { thread } : { thread, replyTo: id })
  if (!(named && thread !== undefined) && isPair(conversation)) places.push('pair')
  return places
}
