// A run (a contract given to an agent) as the MCP tools `agent_*` and REST show it. The fields have the names of the specification that MCP clients know.

import { z } from 'zod'
import { type Run, RunState } from './runs.ts'

export const AgentStatus = z.object({
  agent_id: z.string(),
  agent_name: z.string().optional(),
  status: RunState.optional(),
  started_at: z.string().optional(),
  completed_at: z.string().optional(),
  stopped_at: z.string().optional(),
  stop_reason: z.string().optional(),
  blocked: z.string().optional(),
  summary: z.string().optional(),
  payload_size: z.number().optional(),
  payload_url: z.string().optional(),
  preview: z.string().optional(),
  error: z.string().optional(),
})
export type AgentStatus = z.infer<typeof AgentStatus>

export function agentStatusOf(run: Run | { id: string; error: string }): AgentStatus {
  if ('error' in run) return { agent_id: run.id, error: run.error }
  const status: AgentStatus = {
    agent_id: run.id,
    agent_name: run.agent,
    status: run.status,
    started_at: run.startedAt,
    completed_at: run.completedAt,
    stopped_at: run.stoppedAt,
    stop_reason: run.stopReason,
    blocked: run.blocked,
    summary: run.summary,
    payload_size: run.payloadSize,
    payload_url: run.payloadUrl,
    preview: run.preview,
  }
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined)) as AgentStatus
}
