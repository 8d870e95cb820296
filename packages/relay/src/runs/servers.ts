// The MCP servers of a project's file, as a real MCP client uses them: started for one run, ended with it. Only of a file that is trusted.

import type { Client, Transport } from '@modelcontextprotocol/client'
import type { McpServerSettings } from '../trust.ts'
import { version } from '../version.ts'
import type { ToolDefinition, ToolResult } from './loop-words.ts'

export interface ProjectServers {
  /** Named as the model sees them: `files_read`. */
  tools: ToolDefinition[]
  /** What could not be had, for those who look at the run. */
  troubles: string[]
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
  close(): Promise<void>
}

/** Models take no others in a tool's name, and at most 64. */
const nameOf = (server: string, tool: string) => `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)

export async function openServers(
  settings: Record<string, McpServerSettings>,
  cwd: string | undefined,
  startMs: number,
): Promise<ProjectServers> {
  const known = new Map<string, { client: Client; tool: string }>()
  const clients: Client[] = []
  const tools: ToolDefinition[] = []
  const troubles: string[] = []
  const open = async ([server, each]: [string, McpServerSettings]) => {
    try {
      const client = await connect(each, cwd, startMs, clients)
      for (const { name: tool, description, inputSchema } of (await client.listTools()).tools) {
        const name = nameOf(server, tool)
        known.set(name, { client, tool })
        tools.push({ name, description, inputSchema })
      }
    } catch (error) {
      troubles.push(`The MCP server ${server} is not there: ${(error as Error).message}`)
    }
  }
  await Promise.all(Object.entries(settings).map(open))
  return {
    tools,
    troubles,
    call: async (name, input, signal) => {
      const found = known.get(name)
      if (!found) return { text: `Error: Unknown tool: ${name}`, isError: true }
      const asked = { name: found.tool, arguments: (input ?? {}) as Record<string, unknown> }
      const { content, isError = false } = await found.client.callTool(asked, { signal })
      return { text: textOf(content), isError: isError === true }
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close().catch(() => {})))
    },
  }
}

async function connect(
  settings: McpServerSettings,
  cwd: string | undefined,
  startMs: number,
  clients: Client[],
): Promise<Client> {
  const { Client: McpClient } = await import('./kit.ts')
  const client: Client = new McpClient({ name: 'agent-relay', version })
  // Known before it is connected: one that hangs is ended with the others.
  clients.push(client)
  await client.connect(await transportOf(settings, cwd), { timeout: startMs })
  return client
}

/** A child gets the few variables that every program needs, and those that the file gives it. */
async function transportOf(settings: McpServerSettings, runCwd: string | undefined): Promise<Transport> {
  if ('url' in settings) {
    const { StreamableHTTPClientTransport } = await import('./kit.ts')
    return new StreamableHTTPClientTransport(new URL(settings.url), { requestInit: { headers: settings.headers } })
  }
  const { StdioClientTransport } = await import('./kit.ts')
  const { command, args, env, cwd = runCwd } = settings
  return new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' })
}

function textOf(content: unknown): string {
  const parts = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : []
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')
}
