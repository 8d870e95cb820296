// Named groups of tools. A session gets the groups it asked for, and pays context for no others.

import { RelayError } from '@agent-relay/sdk'
import { agentTools } from './tools/agents/index.ts'
import {
  relayInboxTool,
  relayReleaseTool,
  relaySendTool,
  relaySpawnTool,
  relayStatusTool,
  relayWhoTool,
  type Tool,
} from './tools/index.ts'
import { liftTools } from './tools/lift/index.ts'
import { actionTools, workspaceTools } from './tools/workspace/index.ts'

export const toolsets: Readonly<Record<string, readonly Tool[]>> = {
  relay: [relaySendTool, relayInboxTool, relayWhoTool, relayStatusTool, relaySpawnTool, relayReleaseTool],
  workspace: workspaceTools,
  actions: actionTools,
  agents: agentTools,
  lift: liftTools,
}

export const defaultToolsets = 'relay'
/** Over HTTP a client may know nothing but the address: it finds the agent_* tools there, and with the others its agents can be written to. */
export const httpToolsets = 'relay,agents'

/** `relay,agents` as a list of tools, in a fixed order; an unknown name is refused, naming those that are. */
export function toolsOf(names: string = defaultToolsets): readonly Tool[] {
  const wanted = [
    ...new Set(
      names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  ]
  for (const name of wanted) {
    if (!Object.hasOwn(toolsets, name)) {
      throw new RelayError(`Unknown toolset: ${name}. There are: ${Object.keys(toolsets).join(', ')}.`, {
        code: 'input.invalid',
      })
    }
  }
  // Toolsets may share tools.
  return [...new Set(wanted.flatMap((name) => toolsets[name] as readonly Tool[]))]
}
