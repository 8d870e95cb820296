// The SDK's entry point for web pages: connects to the relay over the browser's own WebSocket. Neither this file nor anything that it imports may import
// `node:` or `ws`.

import { WorkspaceClient } from './client/client.ts'
import { type Renamed, renamedWarning } from './client/shapes.ts'
import type { Connector } from './link.ts'
import { type WebSocketOpener, websocketConnector } from './links/websocket.ts'
import { type ConnectOptions, connectRelayClient, toClientOptions } from './relay/connect.ts'
import type { Relay } from './relay/relay.ts'

export interface RelayConnectOptions extends ConnectOptions {
  /** The relay's HTTP address, such as `http://127.0.0.1:8101`. The relay must allow the page's own origin (`--allow-origin`). */
  url: string
  /** The workspace to use. Needed if the relay accepts connections without a key and has several workspaces. */
  workspace?: string
  open?: WebSocketOpener
  connect?: Connector
}

export function connectRelay(options: RelayConnectOptions): Promise<Relay> {
  const { url, workspace, open, connect = websocketConnector(url, { workspace, open }), ...rest } = options
  const { onRenamed = (renamed: Renamed) => console.warn(renamedWarning(renamed)) } = rest
  return connectRelayClient(new WorkspaceClient(connect, toClientOptions({ ...rest, onRenamed })))
}

export * from './front-door.ts'
