// The SDK's entry point for web pages: the relay over the platform's own WebSocket. Nothing here, or beneath it, imports `node:` or `ws`.

import { WorkspaceClient } from './client/client.ts'
import { type Renamed, renamedText } from './client/shapes.ts'
import type { Connector } from './link.ts'
import { type WebSocketOpener, websocketConnector } from './links/websocket.ts'
import { type ConnectOptions, clientOptions, connected } from './relay/connect.ts'
import type { Relay } from './relay/relay.ts'

export interface RelayConnectOptions extends ConnectOptions {
  /** The relay's HTTP address, `http://127.0.0.1:8101`. The page's own origin must be on the relay's list: `--allow-origin`. */
  url: string
  /** The workspace to use, where the relay asks for no key and has several. */
  workspace?: string
  open?: WebSocketOpener
  connect?: Connector
}

export function connectRelay(options: RelayConnectOptions): Promise<Relay> {
  const { url, workspace, open, connect = websocketConnector(url, { workspace, open }), ...rest } = options
  const { onRenamed = (renamed: Renamed) => console.warn(renamedText(renamed)) } = rest
  return connected(new WorkspaceClient(connect, clientOptions({ ...rest, onRenamed })))
}

export * from './front-door.ts'
