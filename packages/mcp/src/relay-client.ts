// The relay's client as this package gives it to programs: a program without a name gets one, so that it can send.

import { type RelayClientOptions, RelayClient as SdkClient } from '@agent-relay/sdk'

/** The name of a program that was given none. */
export function defaultProgramName(): string {
  return `mcp-${process.pid}`
}

export class RelayClient extends SdkClient {
  constructor(options: RelayClientOptions = {}) {
    // A token belongs to one agent, so no name is needed.
    if (options.agentName || options.token !== undefined) super(options)
    // Ignores a changed name: a second client of this process gets this name with a number, but nobody chose the name, so nobody need be told.
    else super({ onRenamed: () => {}, ...options, agentName: defaultProgramName() })
  }
}
