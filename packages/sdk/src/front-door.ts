// The public names of the SDK on every platform. Programs that speak the protocol use wire.ts; what only our own packages use is in internal/.

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
