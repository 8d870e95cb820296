// Notices that an agent has asked for about another agent, as a schema and a type. No behaviour.

import { z } from 'zod'

/** Occasions. idle: the agent has nothing to do and waits for nobody. ended: nobody is connected as it any more. answered: it has written to the asker. */
export const noticeOccasions = ['idle', 'ended', 'answered'] as const
export const NoticeOccasion = z.enum(noticeOccasions)
export type NoticeOccasion = z.infer<typeof NoticeOccasion>

/** A notice that somebody waits for. */
export const AwaitedNotice = z.object({
  agent: z.string(),
  when: NoticeOccasion,
  /** The message that the notice is about. idle: after the agent was shown it. answered: by an answer to it. */
  message: z.string().optional(),
  since: z.string(),
})
export type AwaitedNotice = z.infer<typeof AwaitedNotice>
