// The WebSocket link in Node, whose version 20 has no WebSocket of its own. Apart from websocket.ts, so that no browser bundle meets `ws`.

import type { Connector } from '../link.ts'
import { limits } from '../protocol/limits.ts'
import {
  websocketConnector as plain,
  platformsWebSocket,
  type WebSocketLike,
  type WebSocketOpener,
} from './websocket.ts'

export function websocketConnector(
  url: string,
  { workspace, open = openAny }: { workspace?: string; open?: WebSocketOpener } = {},
): Connector {
  return plain(url, { workspace, open })
}

async function openAny(url: string): Promise<WebSocketLike> {
  const Socket = platformsWebSocket()
  if (Socket) return new Socket(url)
  const { default: Ws } = await import('ws')
  return new Ws(url, { perMessageDeflate: false, maxPayload: limits.answerBytesMax }) as unknown as WebSocketLike
}
