// The tools and their handlers, one by one.

export { handleRelayInbox, type RelayInboxInput, relayInboxSchema, relayInboxTool } from './relay-inbox.ts'
export { handleRelayRelease, type RelayReleaseInput, relayReleaseSchema, relayReleaseTool } from './relay-release.ts'
export { handleRelaySend, type RelaySendInput, relaySendSchema, relaySendTool } from './relay-send.ts'
export { handleRelaySpawn, type RelaySpawnInput, relaySpawnSchema, relaySpawnTool } from './relay-spawn.ts'
export { handleRelayStatus, type RelayStatusInput, relayStatusSchema, relayStatusTool } from './relay-status.ts'
export { handleRelayWho, type RelayWhoInput, relayWhoSchema, relayWhoTool } from './relay-who.ts'
export { listed, type Tool, type ToolAnswer } from './tool.ts'
