// What people and models are told when they ask for a notice of an agent: that it is so already, or that a message will say so.

import type { NoticeOccasion } from '../protocol/notices.ts'

export const occasionTexts: Readonly<Record<NoticeOccasion, string>> = {
  idle: 'is idle',
  ended: 'has ended',
  answered: 'has answered',
}

/** `You are told once when Bob is idle.` */
export function noticeText(agent: string, when: NoticeOccasion, already: string | undefined): string {
  return already ?? `You are told once when ${agent} ${occasionTexts[when]}.`
}
