// The relay's tools for the built-in agent loop, such as `agent_complete`, called as the run's own agent.

import type { Tool, TurnClient } from '@agent-relay/mcp'
import { cleanForModel } from '@agent-relay/sdk/internal/clean'
import type { Turn } from '@agent-relay/sdk/internal/client'
import { issuesText, messageFor } from '@agent-relay/sdk/protocol'
import type { ToolDefinition, ToolResult } from './loop-protocol.ts'

export interface RelayTools {
  definitions: ToolDefinition[]
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
}

type Mcp = typeof import('@agent-relay/mcp')

const toolsets = 'relay,agents'
/** The loop needs the toolset `agents` to complete its run, but may not start runs: runs that start further runs without end would cost somebody money. */
const withheldTools = new Set(['agent_start', 'agent_stop'])
const hiringTools = new Set(['relay_spawn', 'relay_release'])

/** Returns the relay's tools for one run. The MCP package is loaded with the first run, as with the first MCP session. */
export async function relayTools(openTurn: () => Turn, mayHire: boolean): Promise<RelayTools> {
  const mcp = await import('@agent-relay/mcp')
  const tools = mcp
    .toolsOf(toolsets)
    .filter(({ name }) => !withheldTools.has(name) && (mayHire || !hiringTools.has(name)))
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  const reader = mcp.refusalReaderFor(tools)
  return {
    definitions: tools.map((tool) => {
      const { name, description, inputSchema } = mcp.toolListing(tool)
      return { name, description, inputSchema }
    }),
    call: async (name, input, signal) => {
      const tool = names.get(name)
      if (!tool) return { text: `Error: Unknown tool: ${name}`, isError: true }
      try {
        return await runRelayTool(mcp, tool, new mcp.TurnClient(openTurn(), signal, reader), input)
      } catch (error) {
        return { text: cleanForModel(`Error: ${messageFor(reader, error as Error)}`), isError: true }
      }
    },
  }
}

async function runRelayTool(mcp: Mcp, tool: Tool, client: TurnClient, args: unknown): Promise<ToolResult> {
  const input = tool.input.safeParse(args ?? {})
  if (!input.success) {
    return { text: `Error: Invalid input for ${tool.name}: ${issuesText(input.error.issues)}`, isError: true }
  }
  const { blocks, isError } = await mcp.runTool(tool, client, input.data)
  return { text: blocks.join('\n\n'), isError }
}
