// Facts about notices (an agent is told once when another agent is idle, has ended or has answered): asked for, ended.

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
  /** The number of the last message between the two agents when the notice was asked for: only a later message can be the answer. */
  after: number
}
/** The notice has ended. told: the same entry contains the message that tells the asker. dropped: taken back. retired: an agent was archived. */
export interface NoticeEnded extends OneNotice {
  type: 'notice.ended'
  why: 'told' | 'dropped' | 'retired'
}

export type NoticeFact = NoticeAsked | NoticeEnded
