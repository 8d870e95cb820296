// The public names of `@agent-relay/mcp`: the MCP server over any client of the relay, and its tools.

export { type Memory, readerWith, runTool } from './calling.ts'
export { type Profile, type Registered, type ToolClient, TurnClient } from './client.ts'
export { type LinePort, LineTransport } from './line-transport.ts'
export type { ClientInfo } from './naming.ts'
export { getProtocolPrompt } from './prompt.ts'
export { ActionWatch, Subscriptions } from './push.ts'
export { createServer, type ServerOptions } from './server.ts'
export { handleRelayInbox, type RelayInboxInput, relayInboxSchema, relayInboxTool } from './tools/relay-inbox.ts'
export {
  handleRelayRelease,
  type RelayReleaseInput,
  relayReleaseSchema,
  relayReleaseTool,
} from './tools/relay-release.ts'
export { handleRelaySend, type RelaySendInput, relaySendSchema, relaySendTool } from './tools/relay-send.ts'
export { handleRelaySpawn, type RelaySpawnInput, relaySpawnSchema, relaySpawnTool } from './tools/relay-spawn.ts'
export { handleRelayStatus, type RelayStatusInput, relayStatusSchema, relayStatusTool } from './tools/relay-status.ts'
export { handleRelayWho, type RelayWhoInput, relayWhoSchema, relayWhoTool } from './tools/relay-who.ts'
export { listed, type Tool, type ToolAnswer } from './tools/tool.ts'
export { defaultToolsets, toolsets, toolsOf } from './toolsets.ts'
