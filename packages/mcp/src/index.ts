// The public names of `@agent-relay/mcp`: the MCP server over any client of the relay, its tools, prompt and resources, and the client itself.
// Importing it starts nothing.

import type { InstallOptions, InstallReport } from './install/index.ts'

export {
  AgentNotFoundError,
  ConnectionError,
  DaemonNotRunningError,
  RelayError,
  TimeoutError,
} from '@agent-relay/sdk'
export { type Discovery as DiscoveryResult, discoverSocket } from '@agent-relay/sdk/internal/discover'
export { type HintMemory, refusalReaderFor, runTool } from './calling.ts'
export { type RegisteredAgent, type RegistrationProfile, type ToolClient, TurnClient } from './client.ts'
export { LineTransport, type LineWriter } from './line-transport.ts'
export type { ClientInfo } from './naming.ts'
export { getProtocolPrompt, PROTOCOL_DOCUMENTATION, protocolPrompt } from './prompt.ts'
export { ActionWatch, ResourceSubscriptions } from './push.ts'
export { RelayClient } from './relay-client.ts'
export {
  agentsResource,
  getAgentsResource,
  getInboxResource,
  getProjectResource,
  inboxResource,
  projectResource,
} from './resources.ts'
export { createServer, type ServerOptions } from './server.ts'
export * from './tools/index.ts'
export { type Tool, type ToolAnswer, toolListing } from './tools/tool.ts'
export { defaultToolsets, toolsets, toolsOf } from './tools/toolsets.ts'

/** Adds the server to editors and CLIs. The readers of their files are loaded by the first call. */
export async function runInstall(options?: InstallOptions): Promise<InstallReport> {
  const install = await import('./install/index.ts')
  return install.runInstall(options)
}
