// The public names of the SDK that every platform has, one by one. Those of Node alone are in index.ts.

export {
  type ActionContext,
  type ActionDefinition,
  ActionError,
  type ActionSchema,
  Actions,
  type Registration,
} from './actions.ts'
export { WorkspaceClient } from './client.ts'
export type {
  CallOptions,
  ClientEvents,
  ClientOptions,
  ClientStatus,
  InboxOptions,
  InboxPage,
  ListedAgent,
  ListOptions,
  ReceivedMessage,
  SendOptions,
  SpawnOptions,
  Watch,
  WithContent,
  WorkerResult,
} from './client-shapes.ts'
export { resultOf, uptimeText } from './client-shapes.ts'
export type { ConnectOptions } from './connecting.ts'
export {
  AgentNotFoundError,
  ChannelNotFoundError,
  ConnectionError,
  DaemonNotRunningError,
  errorFrom,
  type RefusalLike,
  RelayError,
  type RelayErrorOptions,
  TimeoutError,
} from './errors.ts'
export type { EventFilter } from './events.ts'
export { type ClientLimits, clientLimits } from './limits.ts'
export type { Closing, Connector, Link, Turn, WatchSink } from './link.ts'
export { EnvelopeLink, type Outlet } from './links/envelopes.ts'
export type { WebSocketLike, WebSocketOpener } from './links/websocket.ts'
export type { Entry, Fact } from './protocol/facts.ts'
export {
  type Call,
  type Envelope,
  encodeFrame,
  FrameError,
  FrameParser,
  type FrameType,
  type Hello,
  type Welcome,
} from './protocol/frames.ts'
export { type Ids, makeIds } from './protocol/ids.ts'
// Types alone of what has schemas: the tables themselves are in '@agent-relay/sdk/protocol', and would bring zod along.
export { daemonName, limits } from './protocol/limits.ts'
export type {
  CallName,
  CommandName,
  InputOf,
  OperationName,
  Operations,
  OutputOf,
  RelayEvent,
  WatchName,
  WorkspaceEntry,
  WorkspaceStatus,
} from './protocol/operations.ts'
export {
  isRefusalCode,
  type Refusal,
  type RefusalCode,
  type RefusalDetails,
  refusal,
  refusals,
} from './protocol/refusals.ts'
export type {
  ActionEnvelope,
  ActionInfo,
  Agent,
  AgentProfile,
  Channel,
  Conversation,
  HistoryMessage,
  InboxMessage,
  Message,
  Receipt,
  Route,
  Run,
  Worker,
} from './protocol/words.ts'
export {
  Relay,
  type RelayAgents,
  type RelayChannels,
  type RelayMessages,
  type RelayWorkspace,
} from './relay.ts'
export type { EventLoopOptions, RelayEvents } from './relay-events.ts'
export type { InboxLoopOptions, RelayInbox } from './relay-inbox.ts'
