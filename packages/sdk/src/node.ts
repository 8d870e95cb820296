// RelayClient and connectRelay for programs in Node: they find their daemon by themselves unless they are told how to connect.

import { WorkspaceClient } from './client/client.ts'
import { type ClientOptions, type Renamed, renamedText } from './client/shapes.ts'
import type { Connector } from './link.ts'
import { type DefaultConnectorOptions, defaultConnector } from './links/default.ts'
import { websocketConnector } from './links/websocket-node.ts'
import { type ConnectOptions, clientOptions, connected } from './relay/connect.ts'
import type { Relay } from './relay/relay.ts'

export interface RelayClientOptions extends ClientOptions, DefaultConnectorOptions {
  /** Replaces the link over the Unix socket, for instance by one in process. */
  connect?: Connector
}

export class RelayClient extends WorkspaceClient {
  constructor(options: RelayClientOptions = {}) {
    super(options.connect ?? defaultConnector(options), { ...options, onRenamed: options.onRenamed ?? warn })
  }
}

/** Warns as Node itself does: on stderr, and not with `--no-warnings`. */
function warn(renamed: Renamed): void {
  process.emitWarning(renamedText(renamed), { type: 'AgentRelayWarning', code: 'AGENT_RELAY_RENAMED' })
}

export interface RelayConnectOptions extends ConnectOptions, DefaultConnectorOptions {
  /** The relay's HTTP address, `http://127.0.0.1:8101`, to connect over WebSocket with a key or token. */
  url?: string
  /** The workspace to use, where the relay at `url` asks for no key and has several. */
  workspace?: string
  connect?: Connector
}

/** Connects over the Unix socket of the daemon that discovery finds, unless `url` or another way is given. */
export function connectRelay(options: RelayConnectOptions = {}): Promise<Relay> {
  const { url, workspace } = options
  const link = url === undefined ? {} : { connect: websocketConnector(url, { workspace }) }
  return connected(new RelayClient({ ...clientOptions(options), ...link }))
}
