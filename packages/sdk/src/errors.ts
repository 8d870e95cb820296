// The errors that users of the SDK see, and the function that turns the daemon's refusals into errors. The refusals are in protocol/refusals.ts. This file
// imports only types, because the MCP stdio pipe loads it and must start fast.

import type { RefusalDetails } from './protocol/refusals.ts'

export interface RelayErrorOptions {
  /** The code of the daemon's refusal, or one of the SDK's own codes: `daemon.not-running`, `connection.lost`, `workspace.ambiguous`. */
  code?: string
  details?: RefusalDetails
  /** Whether the same call, unchanged, may succeed later. */
  retry?: boolean
  cause?: unknown
}

export class RelayError extends Error {
  readonly code?: string
  readonly details: RefusalDetails
  readonly retry: boolean

  constructor(message: string, options: RelayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'RelayError'
    this.code = options.code
    this.details = options.details ?? {}
    this.retry = options.retry ?? false
  }
}

export class DaemonNotRunningError extends RelayError {
  constructor(message?: string, options: RelayErrorOptions = {}) {
    super(message ?? 'Relay daemon is not running. Start with: agent-relay daemon start', {
      code: 'daemon.not-running',
      retry: true,
      ...options,
    })
    this.name = 'DaemonNotRunningError'
  }
}

export class AgentNotFoundError extends RelayError {
  readonly agentName: string

  constructor(agentName: string, message?: string, options: RelayErrorOptions = {}) {
    super(message ?? `Agent not found: ${agentName}`, { code: 'agent.unknown', ...options })
    this.name = 'AgentNotFoundError'
    this.agentName = agentName
  }
}

export class ChannelNotFoundError extends RelayError {
  readonly channel: string

  constructor(channel: string, message?: string, options: RelayErrorOptions = {}) {
    super(message ?? `Channel not found: ${channel}`, { code: 'channel.unknown', ...options })
    this.name = 'ChannelNotFoundError'
    this.channel = channel
  }
}

export class TimeoutError extends RelayError {
  readonly timeoutMs: number

  constructor(operation: string, timeoutMs: number, message?: string, options: RelayErrorOptions = {}) {
    super(message ?? `Timeout after ${timeoutMs}ms: ${operation}`, { code: 'wait.timeout', retry: true, ...options })
    this.name = 'TimeoutError'
    this.timeoutMs = timeoutMs
  }
}

/** The connection to the daemon was lost or could not be made. The call may have run; to repeat it safely, send it under the same id. */
export class ConnectionError extends RelayError {
  constructor(message: string, options: RelayErrorOptions = {}) {
    super(`Connection error: ${message}`, { code: 'connection.lost', retry: true, ...options })
    this.name = 'ConnectionError'
  }
}

/** A refusal as the daemon sends it; a newer daemon may use codes that this SDK does not know. */
export interface RefusalLike {
  code: string
  message: string
  retry?: boolean
  details?: RefusalDetails
}

/** Turns a refusal into an error of the class for its code. The refusal's own text is kept, because it says how to fix the problem. */
export function errorFrom(refusal: RefusalLike): RelayError {
  const { code, message, retry = false, details = {} } = refusal
  const options = { code, retry, details }
  switch (code) {
    case 'agent.unknown':
      return new AgentNotFoundError(String(details.name ?? ''), message, options)
    case 'channel.unknown':
      return new ChannelNotFoundError(String(details.channel ?? ''), message, options)
    case 'wait.timeout':
      return new TimeoutError('message.send', Number(details.ms ?? 0), message, options)
    default:
      return new RelayError(message, options)
  }
}
