// What counts as an answer to a message: for those who wait for it, and for those who are told later whom they still owe one.

import { isPair } from './conversations.ts'

/** Where an answer may stand: in a thread, there perhaps only as a reply to the message itself, or in the pair that the message was sent in. */
export type AnswerPlace = 'pair' | { thread: string; replyTo?: string }

interface Asked {
  id: string
  conversation: string
  thread?: string
}

/**
 * A reply to it; a message of the thread that its sender named; or, between two and without such a thread, the next direct message. `named`: the
 * sender chose the thread. The place of a reply in an older thread is not one it chose: what others say there need not be for it.
 */
export function answerPlaces({ id, conversation, thread }: Asked, named: boolean): AnswerPlace[] {
  const places: AnswerPlace[] = [{ thread: id }]
  if (thread !== undefined) places.push(named ? { thread } : { thread, replyTo: id })
  if (!(named && thread !== undefined) && isPair(conversation)) places.push('pair')
  return places
}
