// The SDK's entry point for programs in Node.

export * from './front-door.ts'
export { connectRelay, RelayClient, type RelayClientOptions, type RelayConnectOptions } from './node.ts'
