// Finds the questions that are still open, for one agent or for anybody. answers.ts says what counts as an answer.

import { answerPlaces } from './answers.ts'
import { directMembers } from './conversations.ts'
import type { Steps } from './steps.ts'
import type { MessageHead, View } from './view.ts'

/** Finds the open questions that the agent `by` was asked or has asked, newest first. `awaited`: the messages whose senders wait for an answer now. */
export function* findOpenQuestions(view: View, by: string, awaited: readonly string[]): Steps<MessageHead[]> {
  const asked = new Map<string, MessageHead>()
  for (const id of awaited) {
    const head = view.message(id)
    if (head && directMembers(head.conversation).includes(by)) asked.set(id, head)
  }
  for (const head of view.questions(by)) {
    if (head) asked.set(head.id, head)
    else yield
  }
  const open: MessageHead[] = []
  for (const head of asked.values()) {
    yield
    if (!isAnswered(view, by, head)) open.push(head)
  }
  return open.sort((a, b) => b.seq - a.seq)
}

/** Whether a recipient of the question, if not retired since, has not answered it. */
export function isQuestionOpen(view: View, asked: MessageHead): boolean {
  const others = directMembers(asked.conversation).filter((name) => name !== asked.from && view.agent(name))
  return others.some((name) => !isAnswered(view, name, asked))
}

/** Whether the agent `by` has answered the question; if `by` is its sender, whether anybody has. */
function isAnswered(view: View, by: string, asked: MessageHead): boolean {
  const { from, thread, replyTo } = asked
  const answers = answerPlaces(asked, thread !== undefined && replyTo === undefined).flatMap((place) =>
    view.messagesAfter(place, asked),
  )
  return answers.some((answer) => view.isRecipient(from, answer) && (from === by || answer.from === by))
}
