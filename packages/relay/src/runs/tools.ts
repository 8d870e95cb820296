// The tools of one loop, as its model sees them: the relay's, which the daemon calls, and those of the project's MCP servers.

import type { ToolSet } from 'ai'
import type { LoopSeat, ToolDefinition, ToolResult } from './loop-words.ts'
import type { ProjectServers } from './servers.ts'

export interface RunTools {
  definitions: ToolSet
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
}

export async function toolsFor(own: ToolDefinition[], seat: LoopSeat, servers: ProjectServers): Promise<RunTools> {
  const { jsonSchema, tool } = await import('./kit.ts')
  const definitions: ToolSet = {}
  // The relay's own name goes before a project's.
  for (const { name, description, inputSchema } of [...own, ...servers.tools])
    definitions[name] ??= tool({ description, inputSchema: jsonSchema(inputSchema) })
  const isOwn = new Set(own.map(({ name }) => name))
  const call = async (name: string, input: unknown, signal: AbortSignal): Promise<ToolResult> => {
    try {
      return isOwn.has(name) ? await seat.callTool(name, input) : await servers.call(name, input, signal)
    } catch (error) {
      return { text: `Error: ${(error as Error).message}`, isError: true }
    }
  }
  return { definitions, call }
}
