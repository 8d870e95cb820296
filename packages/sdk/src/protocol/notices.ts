// Notices (an agent is told once about another agent), as a schema and a type. No behaviour.

import { z } from 'zod'

/**
 * The occasions of a notice. idle: the agent has nothing to do and waits for nobody. ended: the agent's last connection has ended. answered: the agent has
 * written to the asker.
 */
export const noticeOccasions = ['idle', 'ended', 'answered'] as const
export const NoticeOccasion = z.enum(noticeOccasions)
export type NoticeOccasion = z.infer<typeof NoticeOccasion>

/** A notice that was asked for and has not come yet. */
export const AwaitedNotice = z.object({
  agent: z.string(),
  when: NoticeOccasion,
  /**
   * The message that the notice is about. For `idle`: the agent counts as idle only after it was shown this message. For `answered`: only an answer to this
   * message counts.
   */
  message: z.string().optional(),
  since: z.string(),
})
export type AwaitedNotice = z.infer<typeof AwaitedNotice>
