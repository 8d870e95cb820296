// A relay to measure: the daemon's process and its socket, and SDK clients of it.

import { RelayClient } from '@agent-relay/sdk'
import { Child, temporaryFolder } from './child.ts'
import type { RelayAnswer } from './roles/relay.ts'

export interface Relay {
  readonly socketPath: string
  readonly key: string
  /** Where HTTP is served, if it is. */
  readonly url: string | undefined
  readonly pid: number
  /** How long its event loop stood still at most since the last time this was asked. */
  stallMs(): Promise<number>
  /** How late its event loop ran, p99 over the last minute at most. */
  lagMs(): Promise<number>
  client(name: string): Promise<RelayClient>
  stop(): Promise<void>
}

export async function startRelay(
  execArgv: string[] = [],
  more: { hasHttp?: boolean; env?: Record<string, string>; dataDir?: string } = {},
): Promise<Relay> {
  const child = new Child('relay', execArgv)
  const question = { dataDir: temporaryFolder(), project: 'bench', ...more }
  const { socketPath, key, url } = await child.ask<RelayAnswer>(question)
  const clients: RelayClient[] = []
  const client = async (name: string): Promise<RelayClient> => {
    const made = new RelayClient({ agentName: name, socketPath, autoConnect: false })
    clients.push(made)
    await made.connect()
    return made
  }
  return {
    socketPath,
    key,
    url,
    pid: child.pid,
    client,
    stallMs: () => child.ask<number>({ stall: true }),
    async lagMs() {
      const asker = await client('lag-meter')
      const { lagMs } = await asker.call('workspace.status', {})
      await asker.disconnect()
      return lagMs.p99
    },
    async stop() {
      for (const each of clients) await each.disconnect()
      await child.stop()
    },
  }
}
