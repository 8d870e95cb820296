// Toolset `agents`, one by one: contracts that agents work on by themselves.

import type { Tool } from '../tool.ts'
import { agentCompleteTool } from './agent-complete.ts'
import { agentStartTool } from './agent-start.ts'
import { agentStatusTool } from './agent-status.ts'
import { agentStopTool } from './agent-stop.ts'

export const agentTools: readonly Tool[] = [agentStartTool, agentStatusTool, agentCompleteTool, agentStopTool]
