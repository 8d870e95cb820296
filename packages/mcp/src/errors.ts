// The errors an agent can meet, under the names the MCP package gives them. They are the SDK's own.

export {
  AgentNotFoundError,
  ChannelNotFoundError,
  ConnectionError,
  DaemonNotRunningError,
  RelayError,
  TimeoutError,
} from '@agent-relay/sdk'
