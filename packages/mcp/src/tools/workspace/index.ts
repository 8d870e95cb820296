// The tools of toolset `workspace`, in the order in which they are listed.

import type { Tool } from '../tool.ts'
import { actionsInvokeTool } from './actions-invoke.ts'
import { actionsListTool } from './actions-list.ts'
import { actionsResultTool } from './actions-result.ts'
import { flushDeliveriesTool } from './flush-deliveries.ts'
import { joinChannelTool } from './join-channel.ts'
import { leaveChannelTool } from './leave-channel.ts'
import { listAgentsTool } from './list-agents.ts'
import { listChannelsTool } from './list-channels.ts'
import { listEventsTool } from './list-events.ts'
import { listInboxTool } from './list-inbox.ts'
import { markReadTool } from './mark-read.ts'
import { reactTool } from './react.ts'
import { registerAgentTool } from './register-agent.ts'
import { replyTool } from './reply.ts'
import { sendMessageTool } from './send-message.ts'
import { subscribeEventsTool } from './subscribe-events.ts'
import { workspaceStatusTool } from './workspace-status.ts'

/** For hosts that do not take changes of the list: what was offered later is reached through these. */
export const actionTools: readonly Tool[] = [actionsListTool, actionsInvokeTool, actionsResultTool]

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
