// Toolsets: named groups of tools. A session gets only the toolsets that it asked for, so that no other tools fill its context.

import { RelayError } from '@agent-relay/sdk'
import { actionTools } from './actions.ts'
import { agentTools } from './agents.ts'
import { liftTools } from './lift.ts'
import { relayInboxTool } from './relay-inbox.ts'
import { relayReleaseTool } from './relay-release.ts'
import { relaySendTool } from './relay-send.ts'
import { relaySpawnTool } from './relay-spawn.ts'
import { relayStatusTool } from './relay-status.ts'
import { relayWhoTool } from './relay-who.ts'
import type { Tool } from './tool.ts'
import { workspaceTools } from './workspace/index.ts'

export const toolsets: Readonly<Record<string, readonly Tool[]>> = {
  relay: [relaySendTool, relayInboxTool, relayWhoTool, relayStatusTool, relaySpawnTool, relayReleaseTool],
  workspace: workspaceTools,
  actions: actionTools.map((tool) => ({ ...tool, showsActions: true })),
  agents: agentTools,
  lift: liftTools,
}

export const defaultToolsets = 'relay'
/**
 * The default toolsets over HTTP. A client there may know nothing but the URL, so it gets the tools that start agents (agent_*), and those that write
 * to them.
 */
export const httpToolsets = 'relay,agents'

/** The tools of toolsets such as `relay,agents`, in a fixed order. The refusal of an unknown name lists the known ones. */
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
  // If two toolsets have the same tool, the variant with `showsActions` is kept.
  const tools = new Map<string, Tool>()
  for (const tool of wanted.flatMap((name) => toolsets[name] as readonly Tool[]))
    if (!tools.get(tool.name)?.showsActions) tools.set(tool.name, tool)
  return [...tools.values()]
}
