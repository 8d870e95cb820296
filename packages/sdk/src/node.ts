// RelayClient and connectRelay for Node programs. Both find the daemon by themselves, unless they are told how to connect.

import { WorkspaceClient } from './client/client.ts'
import { type ClientOptions, type Renamed, renamedWarning } from './client/shapes.ts'
import type { Connector } from './link.ts'
import { type DefaultConnectorOptions, defaultConnector } from './links/default.ts'
import { websocketConnector } from './links/websocket-node.ts'
import { type ConnectOptions, connectRelayClient, toClientOptions } from './relay/connect.ts'
import type { Relay } from './relay/relay.ts'

export interface RelayClientOptions extends ClientOptions, DefaultConnectorOptions {
  /** How to connect, in place of the Unix socket: for instance to a daemon in the same process. */
  connect?: Connector
}

export class RelayClient extends WorkspaceClient {
  constructor(options: RelayClientOptions = {}) {
    super(options.connect ?? defaultConnector(options), { ...options, onRenamed: options.onRenamed ?? warn })
  }
}

/** Prints a warning like Node's own warnings: on stderr, and not with `--no-warnings`. */
function warn(renamed: Renamed): void {
  process.emitWarning(renamedWarning(renamed), { type: 'AgentRelayWarning', code: 'AGENT_RELAY_RENAMED' })
}

export interface RelayConnectOptions extends ConnectOptions, DefaultConnectorOptions {
  /** The relay's HTTP address, such as `http://127.0.0.1:8101`, to connect to it over WebSocket with a key or token. */
  url?: string
  /** The workspace to use. Needed if the relay at `url` accepts connections without a key and has several workspaces. */
  workspace?: string
  connect?: Connector
}

/** Connects over the Unix socket of the daemon that this machine runs, unless `url` or `connect` is set. */
export function connectRelay(options: RelayConnectOptions = {}): Promise<Relay> {
  const { url, workspace } = options
  const link = url === undefined ? {} : { connect: websocketConnector(url, { workspace }) }
  return connectRelayClient(new RelayClient({ ...toClientOptions(options), ...link }))
}
