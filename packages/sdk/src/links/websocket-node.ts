// The WebSocket link in Node, over the package `ws`: Node's own WebSocket (from version 22 on) does not say why a connection failed, and does not report a
// failure that happens at once. Separate from websocket.ts, so that no browser bundle contains `ws`.

import type { Connector } from '../link.ts'
import { limits } from '../protocol/limits.ts'
import { websocketConnector as plain, type WebSocketLike, type WebSocketOpener } from './websocket.ts'

export function websocketConnector(
  url: string,
  { workspace, open = openWs }: { workspace?: string; open?: WebSocketOpener } = {},
): Connector {
  return plain(url, { workspace, open })
}

async function openWs(url: string): Promise<WebSocketLike> {
  const { default: Ws } = await import('ws')
  return new Ws(url, { perMessageDeflate: false, maxPayload: limits.answerBytesMax }) as unknown as WebSocketLike
}
