// The messages between the daemon and the thread of the loops. The thread has the models; the daemon has the relay.

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

/** What a loop asks of the daemon, as the run's own agent. */
export interface RunAgentCalls {
  takeMail(): Promise<InboxMessage[]>
  /** The model has answered: it has seen what came before. */
  received(): Promise<void>
  /** True once something waits, false when it has not come in time. */
  mailCame(ms: number): Promise<boolean>
  complete(summary: string): Promise<void>
  /** What the model's answer number `n` has used. */
  spent(n: number, tokens: Tokens): Promise<void>
  callTool(name: string, input: unknown): Promise<ToolResult>
}

export interface LoopTask {
  run: RunRow
  contract: string
  model: ModelSettings
  /** Of the relay; they are called by the daemon. */
  tools: ToolDefinition[]
  /** Of the project; they are started by the thread. */
  servers: Record<string, McpServerSettings>
  limits: RunLimits
  /** Its first number is 1 once the run is over: seen at once, also before the message that says so. */
  flag: Int32Array
}

export type ToThread =
  | { type: 'begin'; task: LoopTask }
  | { type: 'over'; run: string }
  | { type: 'answer'; n: number; value?: unknown; error?: string }
  | { type: 'close' }

export type ToDaemon =
  | { type: 'ask'; run: string; n: number; method: keyof RunAgentCalls; args: unknown[] }
  | { type: 'note'; run: string; text: string }
  | { type: 'ended'; run: string; reason?: string }
