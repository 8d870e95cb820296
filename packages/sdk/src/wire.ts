// The SDK's entry point for programs that speak the protocol themselves, or bring their own kind of link: frames, links, limits, refusals and ids. It loads no
// zod schemas: the table of operations, which has schemas, is '@agent-relay/sdk/protocol'.

export { errorFrom, type RefusalLike } from './errors.ts'
export type { Closing, Connector, Link, WatchSink } from './link.ts'
export { type DefaultConnectorOptions, defaultConnector } from './links/default.ts'
export { EnvelopeLink, type Outlet } from './links/envelopes.ts'
export { socketConnector } from './links/socket.ts'
export type { WebSocketLike, WebSocketOpener } from './links/websocket.ts'
export { websocketConnector } from './links/websocket-node.ts'
export * from './protocol/frames.ts'
export * from './protocol/ids.ts'
export { daemonName, isWithinBytes, limits } from './protocol/limits.ts'
export * from './protocol/refusals.ts'
