// What can happen to the notices that agents ask for: one is asked for, and it is over.

import type { NoticeOccasion } from '../notices.ts'

interface OneNotice {
  /** Who wants to be told. */
  asker: string
  /** Of whom. */
  agent: string
  when: NoticeOccasion
  message?: string
}

export interface NoticeAsked extends OneNotice {
  type: 'notice.asked'
  /** The number of the last message between the two at that time: what comes later may be the answer. */
  after: number
}
/** told: the message that tells it is in the same entry. */
export interface NoticeEnded extends OneNotice {
  type: 'notice.ended'
  why: 'told' | 'dropped' | 'retired'
}

export type NoticeFact = NoticeAsked | NoticeEnded
