// The public names of the SDK for programs in Node: those of every platform, and what finds a daemon on this machine.

export * from './common.ts'
export {
  controlSocketPath,
  credentialsPath,
  type Discovery,
  dataDir,
  discoverSocket,
  findDaemon,
  findProjectConfig,
  isAlive,
  isProjectName,
  type ProjectConfig,
  projectDir,
  socketPathOf,
  type Where,
} from './discover.ts'
export { type DefaultConnectorOptions, defaultConnector } from './links/default.ts'
export { socketConnector } from './links/socket.ts'
export { websocketConnector } from './links/websocket-node.ts'
export { connectRelay, RelayClient, type RelayClientOptions, type RelayConnectOptions } from './node.ts'
