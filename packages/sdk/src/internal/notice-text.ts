// Texts for people and models that ask for a notice about an agent (to be told once when it is idle, has ended or has answered).

import type { NoticeOccasion } from '../protocol/notices.ts'

export const occasionTexts: Readonly<Record<NoticeOccasion, string>> = {
  idle: 'is idle',
  ended: 'has ended',
  answered: 'has answered',
}

/** Returns a sentence such as `You are told once when Bob is idle.`; or `already`, a sentence that says that this is the case now. */
export function noticeText(agent: string, when: NoticeOccasion, already: string | undefined): string {
  return already ?? `You are told once when ${agent} ${occasionTexts[when]}.`
}
