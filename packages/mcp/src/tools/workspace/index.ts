// Toolset `workspace`: the list of its tools, and the tool workspace_status. The other tools are in this folder's files, by noun.

import { z } from 'zod'
import { actionTools } from '../actions.ts'
import { defineEnvelopeTool, type Tool } from '../tool.ts'
import { listAgentsTool, registerAgentTool } from './agents.ts'
import { joinChannelTool, leaveChannelTool, listChannelsTool } from './channels.ts'
import { listEventsTool, subscribeEventsTool } from './events.ts'
import { flushDeliveriesTool, listInboxTool, markReadTool } from './inbox.ts'
import { reactTool, replyTool, sendMessageTool } from './messages.ts'

const workspaceStatusTool = defineEnvelopeTool({
  name: 'workspace_status',
  title: 'Workspace status',
  description: 'Who you are, and the status of the workspace and its daemon.',
  input: z.object({}),
  hints: { readOnly: true, idempotent: true },
  worksWithoutAgent: true,
  run: async (client) => {
    const status = await client.call('workspace.status', {})
    const { workspace, agent, daemonVersion, uptimeMs, agents, sessions, messages, seq, lagMs } = status
    const note = agent === undefined ? 'You act as no agent yet: call register_agent.' : undefined
    return { workspace, agent, daemonVersion, uptimeMs, agents, sessions, messages, seq, lagMs, note }
  },
})

/** The tools in the order in which tools/list shows them. */
export const workspaceTools: readonly Tool[] = [
  registerAgentTool,
  listAgentsTool,
  joinChannelTool,
  leaveChannelTool,
  listChannelsTool,
  sendMessageTool,
  replyTool,
  reactTool,
  listInboxTool,
  markReadTool,
  subscribeEventsTool,
  listEventsTool,
  flushDeliveriesTool,
  workspaceStatusTool,
  ...actionTools,
]
