// The SDK's public exports that are the same in Node and in browsers. Programs that speak the wire protocol themselves use wire.ts; exports for our own
// packages are in internal/.

export type { ReceivedMessage } from './client/shapes.ts'
export {
  AgentNotFoundError,
  ChannelNotFoundError,
  ConnectionError,
  DaemonNotRunningError,
  RelayError,
  TimeoutError,
} from './errors.ts'
export type { EventOf, RelayEvent } from './protocol/events.ts'
export type { Message } from './protocol/words.ts'
export { type ActionContext, type ActionDefinition, ActionError } from './relay/actions.ts'
export { Relay } from './relay/relay.ts'
