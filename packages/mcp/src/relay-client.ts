// The relay's client as this package gives it to programs: one that nobody named has a name of its own, so that it can send.

import { type RelayClientOptions, RelayClient as SdkClient } from '@agent-relay/sdk'

/** Who a program is that was given no name. */
export function programName(): string {
  return `mcp-${process.pid}`
}

export class RelayClient extends SdkClient {
  constructor(options: RelayClientOptions = {}) {
    // A token tells by itself whose it is.
    if (options.agentName || options.token !== undefined) super(options)
    // Nobody chose this name, so nobody has to be told that a second client of this process has it with a number.
    else super({ onRenamed: () => {}, ...options, agentName: programName() })
  }
}
