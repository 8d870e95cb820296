// Texts for people and models that ask for a notice about an agent: it is so already, or a message will say so.

import type { NoticeOccasion } from '../protocol/notices.ts'

export const occasionTexts: Readonly<Record<NoticeOccasion, string>> = {
  idle: 'is idle',
  ended: 'has ended',
  answered: 'has answered',
}

/** A sentence such as `You are told once when Bob is idle.` */
export function noticeText(agent: string, when: NoticeOccasion, already: string | undefined): string {
  return already ?? `You are told once when ${agent} ${occasionTexts[when]}.`
}
