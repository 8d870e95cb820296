// The default connection of a program in Node to its daemon: over the Unix socket that discover.ts finds, looked for again on every attempt.

import { findDaemon, type Where, workingDirectory } from '../internal/discover.ts'
import type { Connector } from '../link.ts'
import { socketConnector } from './socket.ts'

export interface DefaultConnectorOptions extends Where {
  /** The path of the socket, which goes before all discovery. */
  socketPath?: string
}

export function defaultConnector(options: DefaultConnectorOptions = {}): Connector {
  if (options.socketPath !== undefined) return socketConnector(options.socketPath)
  // The directory at the start counts: a program that changes its directory does not mean to change its workspace.
  const cwd = options.cwd ?? workingDirectory()
  let project = options.project
  return async (hello) => {
    const found = await findDaemon({ ...options, cwd, project })
    const link = await socketConnector(found.socketPath)(hello)
    // A scan takes whatever runs, but only once: after a lost link it connects to that workspace again, or to nothing.
    if (found.source === 'scan') project = found.project
    return link
  }
}
