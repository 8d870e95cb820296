// The tools of one built-in agent loop: the relay's, and those of the MCP servers in the project's configuration, called as a real MCP client does. The servers
// are started for one run and end with it, and only if the configuration is trusted.

import type { Client, Transport } from '@modelcontextprotocol/client'
import type { ToolSet } from 'ai'
import type { McpServerSettings } from '../machine/trust.ts'
import { version } from '../machine/version.ts'
import type { RunAgentCalls, ToolDefinition, ToolResult } from './loop-protocol.ts'

export interface ProjectServers {
  /** Tools under the names that the model sees, such as `files_read`. */
  tools: ToolDefinition[]
  /** A text for each MCP server that could not be started, shown to people who watch the run. */
  troubles: string[]
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
  close(): Promise<void>
}

/** Makes a tool name that models accept: only letters, digits, `_` and `-`, at most 64 characters. */
const nameOf = (server: string, tool: string) => `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)

export async function openProjectServers(
  settings: Record<string, McpServerSettings>,
  startMs: number,
): Promise<ProjectServers> {
  const known = new Map<string, { client: Client; tool: string }>()
  const clients: Client[] = []
  const tools: ToolDefinition[] = []
  const troubles: string[] = []
  const open = async ([server, each]: [string, McpServerSettings]) => {
    try {
      const client = await connect(each, startMs, clients)
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

async function connect(settings: McpServerSettings, startMs: number, clients: Client[]): Promise<Client> {
  const { Client: McpClient } = await import('./libraries.ts')
  const client: Client = new McpClient({ name: 'agent-relay', version })
  // The MCP client is stored before it connects, so that a server that hangs is closed with the others.
  clients.push(client)
  await client.connect(await transportOf(settings), { timeout: startMs })
  return client
}

/**
 * Opens the transport to an MCP server. A server that is a program of this machine is started with the few variables that every program needs, and
 * those that the configuration names.
 */
async function transportOf(settings: McpServerSettings): Promise<Transport> {
  if ('url' in settings) {
    const { StreamableHTTPClientTransport } = await import('./libraries.ts')
    return new StreamableHTTPClientTransport(new URL(settings.url), { requestInit: { headers: settings.headers } })
  }
  const { StdioClientTransport } = await import('./libraries.ts')
  const { command, args, env, cwd } = settings
  return new StdioClientTransport({ command, args, env, cwd, stderr: 'ignore' })
}

function textOf(content: unknown): string {
  const parts = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : []
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')
}

/** The tools of one loop, as its model sees them: the relay's tools, which the daemon calls, and those of the project's MCP servers. */
export interface RunTools {
  definitions: ToolSet
  call(name: string, input: unknown, signal: AbortSignal): Promise<ToolResult>
}

export async function combineTools(
  own: ToolDefinition[],
  agent: RunAgentCalls,
  servers: ProjectServers,
): Promise<RunTools> {
  const { jsonSchema, tool } = await import('./libraries.ts')
  const definitions: ToolSet = {}
  // A tool of the relay wins over a project's tool of the same name.
  for (const { name, description, inputSchema } of [...own, ...servers.tools])
    definitions[name] ??= tool({ description, inputSchema: jsonSchema(inputSchema) })
  const isOwn = new Set(own.map(({ name }) => name))
  const call = async (name: string, input: unknown, signal: AbortSignal): Promise<ToolResult> => {
    try {
      return isOwn.has(name) ? await agent.callTool(name, input) : await servers.call(name, input, signal)
    } catch (error) {
      return { text: `Error: ${(error as Error).message}`, isError: true }
    }
  }
  return { definitions, call }
}
