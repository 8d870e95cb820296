// Makes SDK clients for a trial, which disconnects them when it ends.

import { RelayClient } from '@agent-relay/sdk'
import type { ClientLimits } from '@agent-relay/sdk/internal/client'
import type { Trial } from './processes.ts'

interface TrialClientOptions {
  limits?: Partial<ClientLimits>
  /** Collects the errors that the client reports outside of any call. */
  faults?: string[]
}

export async function connectClient(
  trial: Trial,
  agentName: string,
  { limits, faults }: TrialClientOptions = {},
): Promise<RelayClient> {
  const client = new RelayClient({ agentName, socketPath: trial.socketPath, autoConnect: false, limits })
  trial.onDispose(() => client.disconnect())
  client.on('error', (error) => faults?.push(`${agentName}: ${error.message}`))
  await client.connect()
  return client
}
