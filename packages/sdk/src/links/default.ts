// The default connection of a Node program to its daemon: over the Unix socket that discover.ts finds. Each attempt to connect searches for the socket again.

import { type DiscoveryOptions, findDaemon, workingDirectory } from '../internal/discover.ts'
import type { Connector } from '../link.ts'
import { socketConnector } from './socket.ts'

export interface DefaultConnectorOptions extends DiscoveryOptions {
  /** The path of the socket. If set, no search takes place. */
  socketPath?: string
}

export function defaultConnector(options: DefaultConnectorOptions = {}): Connector {
  if (options.socketPath !== undefined) return socketConnector(options.socketPath)
  // The working directory is read once, so that a program that changes its directory stays in its workspace.
  const cwd = options.cwd ?? workingDirectory()
  let project = options.project
  return async (hello) => {
    const found = await findDaemon({ ...options, cwd, project })
    const link = await socketConnector(found.socketPath)(hello)
    // A scan of the data directory may choose any running workspace, but only the first time: later connections use the same workspace.
    if (found.source === 'scan') project = found.project
    return link
  }
}
