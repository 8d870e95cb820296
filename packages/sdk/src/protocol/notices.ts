// What an agent has asked to be told of another agent, as a schema and a type. No behaviour.

import { z } from 'zod'

/** idle: it has nothing to do and waits for nobody. ended: nobody is connected as it any more. answered: it has written to the one who asks. */
export const noticeOccasions = ['idle', 'ended', 'answered'] as const
export const NoticeOccasion = z.enum(noticeOccasions)
export type NoticeOccasion = z.infer<typeof NoticeOccasion>

/** A notice that somebody waits for. */
export const AwaitedNotice = z.object({
  agent: z.string(),
  when: NoticeOccasion,
  /** idle: after it was shown this message. answered: by an answer to this message. */
  message: z.string().optional(),
  since: z.string(),
})
export type AwaitedNotice = z.infer<typeof AwaitedNotice>
