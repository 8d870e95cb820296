// Operations on notices: an agent is told once when another agent is idle, has ended or has answered.

import { z } from 'zod'
import { AwaitedNotice, NoticeOccasion } from '../notices.ts'
import { AgentName, MessageId } from '../words.ts'
import type { OperationTable } from './rule.ts'

const asked = z.object({ agent: AgentName, when: NoticeOccasion })

export const noticeOperations = {
  'notice.ask': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary:
      'Ask to be told once, by a message of the daemon, when another agent is idle, has ended or has answered you. If it is so already, the answer says so at once.',
    /** `message`, for `idle`: the other agent counts as idle only after it was shown this message. For `answered`: only an answer to this message counts. */
    input: asked.extend({ message: MessageId.optional() }),
    /** `already`: a sentence that says that the event has happened already. Then no notice is stored, and no message will come. */
    output: z.object({ already: z.string().optional() }),
  },
  'notice.drop': {
    kind: 'command',
    who: 'agent',
    network: 'open',
    summary: 'Drop your notices about an agent: one kind, or all.',
    input: asked.partial({ when: true }),
    output: z.object({ dropped: z.number() }),
  },
  'notice.list': {
    kind: 'query',
    who: 'agent',
    network: 'open',
    summary: 'The notices that you have asked for and not got yet, oldest first.',
    input: z.object({}),
    output: z.object({ notices: z.array(AwaitedNotice) }),
  },
} satisfies OperationTable
