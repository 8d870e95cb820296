// The relay's client as this package gives it to programs: a program without a name gets one, so that it can send.

import { type RelayClientOptions, RelayClient as SdkClient } from '@agent-relay/sdk'

/** The name of a program that was given none. */
export function defaultProgramName(): string {
  return `mcp-${process.pid}`
}

export class RelayClient extends SdkClient {
  constructor(options: RelayClientOptions = {}) {
    // A token names its agent by itself.
    if (options.agentName || options.token !== undefined) super(options)
    // Nobody chose this name, so nobody has to be told that a second client of this process has it with a number.
    else super({ onRenamed: () => {}, ...options, agentName: defaultProgramName() })
  }
}
