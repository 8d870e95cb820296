// What the tools agent_* answer: the same fields as JSON text and as structured content. No tool lives here.

import type { Run } from '@agent-relay/sdk/protocol'
import { z } from 'zod'
import type { ToolAnswer } from '../tool.ts'

export function jsonAnswer<O>(structured: O, text: unknown = structured): ToolAnswer<O> {
  return { text: JSON.stringify(text), structured }
}

/** How a run has ended: the times that it has. */
export const Ended = z.object({
  status: z.string(),
  started_at: z.string(),
  completed_at: z.string().optional(),
  stopped_at: z.string().optional(),
})

export function endedAnswer({ status, startedAt, completedAt, stoppedAt }: Run): ToolAnswer<z.infer<typeof Ended>> {
  return jsonAnswer({
    status,
    started_at: startedAt,
    ...(completedAt === undefined ? {} : { completed_at: completedAt }),
    ...(stoppedAt === undefined ? {} : { stopped_at: stoppedAt }),
  })
}
