// The relay's tools for the built-in loop, called as the run's own agent, and agent_complete among them.

import type { Tool, TurnClient } from '@agent-relay/mcp'
import type { Turn } from '@agent-relay/sdk'
import type { ToolDefinition, ToolResult } from './loop-words.ts'

export interface OwnTools {
  definitions: ToolDefinition[]
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
}

const toolsets = 'relay,agents'
/** Of toolset `agents` it needs to end itself; agents that start agents without end are somebody's bill. */
const withheld = new Set(['agent_start', 'agent_stop'])

/** The package is loaded with the first run, as with the first MCP session. */
export async function ownTools(openTurn: () => Turn): Promise<OwnTools> {
  const mcp = await import('@agent-relay/mcp')
  const tools = mcp.toolsOf(toolsets).filter(({ name }) => !withheld.has(name))
  const names = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    definitions: tools.map((tool) => {
      const { name, description, inputSchema } = mcp.listed(tool)
      return { name, description, inputSchema }
    }),
    call: async (name, input, signal) => {
      const tool = names.get(name)
      if (!tool) return { text: `Error: Unknown tool: ${name}`, isError: true }
      try {
        return await called(tool, new mcp.TurnClient(openTurn(), signal), input)
      } catch (error) {
        return { text: `Error: ${(error as Error).message}`, isError: true }
      }
    },
  }
}

async function called(tool: Tool, client: TurnClient, args: unknown): Promise<ToolResult> {
  const input = tool.input.safeParse(args ?? {})
  if (!input.success) {
    const why = input.error.issues.map(({ path, message }) =>
      path.length > 0 ? `${path.join('.')}: ${message}` : message,
    )
    return { text: `Error: Invalid input for ${tool.name}: ${why.join('; ')}`, isError: true }
  }
  const { text, isError = false } = await tool.run(client, input.data)
  return { text, isError }
}
