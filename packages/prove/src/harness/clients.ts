// Clients of the SDK, which leave with the scene.

import { RelayClient } from '@agent-relay/sdk'
import type { ClientLimits } from '@agent-relay/sdk/internal/client'
import type { Scene } from './processes.ts'

interface Wishes {
  limits?: Partial<ClientLimits>
  /** Takes what the client reports as an error outside of any call. */
  faults?: string[]
}

export async function connectClient(
  scene: Scene,
  agentName: string,
  { limits, faults }: Wishes = {},
): Promise<RelayClient> {
  const client = new RelayClient({ agentName, socketPath: scene.socketPath, autoConnect: false, limits })
  scene.onDispose(() => client.disconnect())
  client.on('error', (error) => faults?.push(`${agentName}: ${error.message}`))
  await client.connect()
  return client
}
