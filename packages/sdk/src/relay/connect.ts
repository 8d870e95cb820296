// The options of `connectRelay` on every platform, and the function that makes a Relay from a client. node.ts and browser.ts choose the kind of connection.

import type { WorkspaceClient } from '../client/client.ts'
import type { ClientOptions } from '../client/shapes.ts'
import { Relay } from './relay.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'agentName' | 'agentType' | 'autoConnect'> {
  /** The agent to act as. Without a name, the program can read but not send. */
  name?: string
  type?: ClientOptions['agentType']
}

export function toClientOptions<T extends ConnectOptions>({ name, type, ...rest }: T) {
  return { ...rest, agentName: name, agentType: type, autoConnect: false }
}

/** Connects a client and returns it as a Relay; rejects if no daemon listens, or if the daemon refuses. Afterwards the Relay reconnects by itself. */
export async function connectRelayClient(client: WorkspaceClient): Promise<Relay> {
  const relay = new Relay(client)
  try {
    await client.connect()
    return relay
  } catch (error) {
    await relay.close()
    throw error
  }
}
