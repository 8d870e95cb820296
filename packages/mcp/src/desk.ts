// What a session does for its tools besides asking the relay: taking a name, and telling the host of events by itself.

import { RelayError } from '@agent-relay/sdk'
import type { InputOf } from '@agent-relay/sdk/protocol'

export type Profile = Pick<InputOf<'agent.register'>, 'name' | 'handle' | 'type' | 'channels'>

export interface Registered {
  agent: string
  id: string
  /** Only where every call must show who it is. Elsewhere the session knows, and no tool ever answers a token. */
  agentToken?: string
}

export interface EventFilter {
  types: string[]
  since?: number
}

export interface Desk {
  register(profile: Profile): Promise<Registered>
  /** From now on the host is sent these events; false where it cannot take them. No types: no more events. */
  subscribe(filter: EventFilter): Promise<boolean>
}

export const emptyDesk: Desk = {
  register: async () => {
    throw new RelayError('This session cannot take another name.', { code: 'auth.denied' })
  },
  subscribe: async () => false,
}
