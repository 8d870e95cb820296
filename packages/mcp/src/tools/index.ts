// The six tools of the toolset `relay` by their names, for programs: each as tools/list shows it, its schema, and the function that answers it
// over any client with the methods that it calls.

import { relayInboxTool as inbox } from './relay-inbox.ts'
import { relayReleaseTool as release } from './relay-release.ts'
import { relaySendTool as send } from './relay-send.ts'
import { relaySpawnTool as spawn } from './relay-spawn.ts'
import { relayStatusTool as status } from './relay-status.ts'
import { relayWhoTool as who } from './relay-who.ts'
import { toolListing } from './tool.ts'

export { handleRelayInbox, type RelayInboxInput, relayInboxSchema } from './relay-inbox.ts'
export { handleRelayRelease, type RelayReleaseInput, relayReleaseSchema } from './relay-release.ts'
export { handleRelaySend, type RelaySendInput, relaySendSchema } from './relay-send.ts'
export { handleRelaySpawn, type RelaySpawnInput, relaySpawnSchema } from './relay-spawn.ts'
export { handleRelayStatus, type RelayStatusInput, relayStatusSchema } from './relay-status.ts'
export { handleRelayWho, type RelayWhoInput, relayWhoSchema } from './relay-who.ts'

export const relaySendTool = toolListing(send)
export const relayInboxTool = toolListing(inbox)
export const relayWhoTool = toolListing(who)
export const relayStatusTool = toolListing(status)
export const relaySpawnTool = toolListing(spawn)
export const relayReleaseTool = toolListing(release)
