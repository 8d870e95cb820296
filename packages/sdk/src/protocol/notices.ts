// Notices (an agent is told once about another agent), as a schema and a type. No behaviour.

import { z } from 'zod'

/**
 * The events about which an agent can be told once. idle: the other agent has nothing to do and waits for nobody. ended: its last connection has ended.
 * answered: it has written to the asker.
 */
export const noticeOccasions = ['idle', 'ended', 'answered'] as const
export const NoticeOccasion = z.enum(noticeOccasions)
export type NoticeOccasion = z.infer<typeof NoticeOccasion>

/** A notice that an agent has asked for and not received yet. */
export const AwaitedNotice = z.object({
  agent: z.string(),
  when: NoticeOccasion,
  /**
   * The message on which the notice depends. For `idle`: the other agent counts as idle only after it was shown this message. For `answered`: only an answer to
   * this message counts.
   */
  message: z.string().optional(),
  since: z.string(),
})
export type AwaitedNotice = z.infer<typeof AwaitedNotice>
