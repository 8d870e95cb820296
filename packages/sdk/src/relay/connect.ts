// What connectRelay takes on every platform, and how its client becomes a relay. For the link that it uses see node.ts and browser.ts.

import type { WorkspaceClient } from '../client/client.ts'
import type { ClientOptions } from '../client/shapes.ts'
import { Relay } from './relay.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'agentName' | 'agentType' | 'autoConnect'> {
  /** The agent to act as. Without a name the program can read, but not send. */
  name?: string
  type?: ClientOptions['agentType']
}

export function clientOptions<T extends ConnectOptions>({ name: agentName, type: agentType, ...rest }: T) {
  return { ...rest, agentName, agentType, autoConnect: false }
}

/** Rejects when no daemon listens or when it refuses. After that the relay reconnects by itself. */
export async function connected(client: WorkspaceClient): Promise<Relay> {
  const relay = new Relay(client)
  try {
    await client.connect()
    return relay
  } catch (error) {
    await relay.close()
    throw error
  }
}
