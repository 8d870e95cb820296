// The front door on every platform: the names that programs use. What speaks the protocol is in wire.ts, what only our own packages use in internal/.

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
