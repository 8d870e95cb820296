// What connectRelay takes on every platform, and how its client becomes a relay. Which link it uses is node.ts's and browser.ts's affair.

import type { WorkspaceClient } from './client.ts'
import type { ClientOptions } from './client-shapes.ts'
import { Relay } from './relay.ts'

export interface ConnectOptions extends Omit<ClientOptions, 'agentName' | 'agentType' | 'autoConnect'> {
  /** Without a name the program may ask, but acts for nobody. */
  name?: string
  type?: ClientOptions['agentType']
}

export function clientOptions<T extends ConnectOptions>({ name: agentName, type: agentType, ...rest }: T) {
  return { ...rest, agentName, agentType, autoConnect: false }
}

/** Rejects when nobody listens or when we are refused; a link that is lost later is taken up again by itself. */
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
