// The default connection of a Node program to its daemon: over the Unix socket that discover.ts finds. Each attempt searches for the socket again.

import { type DiscoveryOptions, findDaemon, workingDirectory } from '../internal/discover.ts'
import type { Connector } from '../link.ts'
import { socketConnector } from './socket.ts'

export interface DefaultConnectorOptions extends DiscoveryOptions {
  /** The path of the socket. If set, no search takes place. */
  socketPath?: string
}

export function defaultConnector(options: DefaultConnectorOptions = {}): Connector {
  if (options.socketPath !== undefined) return socketConnector(options.socketPath)
  // The working directory at the start counts: a program that changes its directory does not mean to change its workspace.
  const cwd = options.cwd ?? workingDirectory()
  let project = options.project
  return async (hello) => {
    const found = await findDaemon({ ...options, cwd, project })
    const link = await socketConnector(found.socketPath)(hello)
    // A scan takes any workspace that runs, but only once: after a lost connection, the same workspace is looked for and no other.
    if (found.source === 'scan') project = found.project
    return link
  }
}
