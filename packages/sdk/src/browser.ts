// The SDK for web pages: the relay over the platform's own WebSocket. Nothing here, or beneath it, imports `node:` or `ws`.

import { WorkspaceClient } from './client.ts'
import { type ConnectOptions, clientOptions, connected } from './connecting.ts'
import type { Connector } from './link.ts'
import { type WebSocketOpener, websocketConnector } from './links/websocket.ts'
import type { Relay } from './relay.ts'

export interface BrowserConnectOptions extends ConnectOptions {
  /** Where the relay serves HTTP: `http://127.0.0.1:8101`. The page's own origin must be on its list: `--allow-origin`. */
  url: string
  /** Where the relay is open and has several workspaces. */
  workspace?: string
  open?: WebSocketOpener
  connect?: Connector
}

export function connectRelay(options: BrowserConnectOptions): Promise<Relay> {
  const { url, workspace, open, connect = websocketConnector(url, { workspace, open }), ...rest } = options
  return connected(new WorkspaceClient(connect, clientOptions(rest)))
}

export * from './common.ts'
export { websocketConnector } from './links/websocket.ts'
export { boundRepeats } from './protocol/terminal.ts'
