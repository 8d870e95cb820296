// The messages between the daemon and the worker thread that runs the built-in agent loops. The thread talks to the models; the daemon makes the loops' calls
// to the relay.

import type { InboxMessage, Tokens } from '@agent-relay/sdk/protocol'
import type { RunRow } from '../core/view.ts'
import type { McpServerSettings } from '../machine/trust.ts'
import type { RunLimits } from './limits.ts'
import type { ModelSettings } from './model.ts'

export interface ToolDefinition {
  name: string
  description?: string
  inputSchema: object
}

export interface ToolResult {
  text: string
  isError: boolean
}

/** Calls that a loop asks the daemon to make as the run's own agent. */
export interface RunAgentCalls {
  takeMail(): Promise<InboxMessage[]>
  /** Marks all messages handed out so far as read: the model has answered after seeing them. */
  markRead(): Promise<void>
  /** Resolves to true once messages wait in the inbox, to false if no message has come within `ms` milliseconds. */
  waitForMail(ms: number): Promise<boolean>
  complete(summary: string): Promise<void>
  /** Records the tokens used by the model's answer number `n`. */
  recordSpend(n: number, tokens: Tokens): Promise<void>
  callTool(name: string, input: unknown): Promise<ToolResult>
}

export interface LoopTask {
  run: RunRow
  contract: string
  model: ModelSettings
  /** The relay's own tools for the model; the daemon carries out their calls. */
  tools: ToolDefinition[]
  /** The MCP servers of the project's configuration; the worker thread starts them. */
  servers: Record<string, McpServerSettings>
  limits: RunLimits
  /**
   * Memory that the thread shares with the daemon. Its first number becomes 1 once the run is over, so that the thread knows it even before the
   * message `over` arrives.
   */
  overFlag: Int32Array
}

export type MessageToThread =
  | { type: 'begin'; task: LoopTask }
  | { type: 'over'; run: string }
  | { type: 'answer'; n: number; value?: unknown; error?: string }
  | { type: 'close' }

export type MessageToDaemon =
  | { type: 'ask'; run: string; n: number; method: keyof RunAgentCalls; args: unknown[] }
  | { type: 'note'; run: string; text: string }
  | { type: 'ended'; run: string; reason?: string }
