// Named groups of tools. A session gets the groups it asked for, and pays context for no others.

import { RelayError } from '@agent-relay/sdk'
import { actionTools } from './tools/actions.ts'
import { agentTools } from './tools/agents.ts'
import { liftTools } from './tools/lift.ts'
import { relayInboxTool } from './tools/relay-inbox.ts'
import { relayReleaseTool } from './tools/relay-release.ts'
import { relaySendTool } from './tools/relay-send.ts'
import { relaySpawnTool } from './tools/relay-spawn.ts'
import { relayStatusTool } from './tools/relay-status.ts'
import { relayWhoTool } from './tools/relay-who.ts'
import type { Tool } from './tools/tool.ts'
import { workspaceTools } from './tools/workspace/index.ts'

export const toolsets: Readonly<Record<string, readonly Tool[]>> = {
  relay: [relaySendTool, relayInboxTool, relayWhoTool, relayStatusTool, relaySpawnTool, relayReleaseTool],
  workspace: workspaceTools,
  actions: actionTools.map((tool) => ({ ...tool, showsActions: true })),
  agents: agentTools,
  lift: liftTools,
}

export const defaultToolsets = 'relay'
/** Over HTTP a client may know nothing but the address: it gets the agent_* tools, and those with which it can write to its agents. */
export const httpToolsets = 'relay,agents'

/** `relay,agents` as a list of tools, in a fixed order; an unknown name is refused, naming the known ones. */
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
  // Toolsets may share tools; one that shows every action does so whatever it stands beside.
  const tools = new Map<string, Tool>()
  for (const tool of wanted.flatMap((name) => toolsets[name] as readonly Tool[]))
    if (!tools.get(tool.name)?.showsActions) tools.set(tool.name, tool)
  return [...tools.values()]
}
