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
  /** The number of the last message between the two agents at the time of the request: only a later message can be the answer that is waited for. */
  after: number
}
/**
 * The request for a notice is over. told: the asker gets its notice, a message in the same entry. dropped: the asker took the request back. retired: one of the
 * two agents was archived.
 */
export interface NoticeEnded extends OneNotice {
  type: 'notice.ended'
  why: 'told' | 'dropped' | 'retired'
}

export type NoticeFact = NoticeAsked | NoticeEnded
