// workspace_status: the diagnostics of the current workspace.

import { z } from 'zod'
import { workspaceTool } from './tool.ts'

export const workspaceStatusTool = workspaceTool({
  name: 'workspace_status',
  title: 'Workspace status',
  description: 'Who you are, and how the workspace and its daemon fare.',
  input: z.object({}),
  output: {
    workspace: z.string(),
    agent: z.string().optional(),
    daemonVersion: z.string(),
    uptimeMs: z.number(),
    agents: z.number(),
    sessions: z.number(),
    messages: z.number(),
    seq: z.number(),
    lagMs: z.looseObject({}),
  },
  hints: { readOnly: true, idempotent: true },
  isForAnyone: true,
  run: async (client) => {
    const status = await client.call('workspace.status', {})
    const { workspace, agent, daemonVersion, uptimeMs, agents, sessions, messages, seq, lagMs } = status
    const who = agent === undefined ? 'You act as no agent yet: call register_agent.' : `You are ${agent}.`
    const text = `${who} Workspace ${workspace}: ${agents} agents, ${sessions} sessions, ${messages} messages.`
    return { text, workspace, agent, daemonVersion, uptimeMs, agents, sessions, messages, seq, lagMs }
  },
})
