// Facts about the notices that agents ask for: one is asked for, and it is over.

import type { NoticeOccasion } from '../notices.ts'

interface OneNotice {
  /** The agent that wants to be told. */
  asker: string
  /** The agent that the notice is about. */
  agent: string
  when: NoticeOccasion
  message?: string
}

export interface NoticeAsked extends OneNotice {
  type: 'notice.asked'
  /** The number of the last message between the two agents at that time: a later one may be the answer. */
  after: number
}
/** The notice is over. told: the message that tells it is in the same entry. */
export interface NoticeEnded extends OneNotice {
  type: 'notice.ended'
  why: 'told' | 'dropped' | 'retired'
}

export type NoticeFact = NoticeAsked | NoticeEnded
