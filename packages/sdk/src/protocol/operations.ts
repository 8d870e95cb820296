// The table of all operations that clients can call, each with its kind, the least rights that it needs, input, output and a sentence about it. It contains no
// handlers. Socket, WebSocket, HTTP and the SDK's types are derived from the table; MCP tools and CLI commands are written by hand and reuse its schemas.

import type { z } from 'zod'
import { actionOperations } from './operations/actions.ts'
import { agentOperations } from './operations/agents.ts'
import { approvalOperations } from './operations/approvals.ts'
import { channelOperations } from './operations/channels.ts'
import { claimOperations } from './operations/claims.ts'
import { daemonOperations } from './operations/daemon.ts'
import { eventOperations } from './operations/events.ts'
import { historyOperations } from './operations/history.ts'
import { inboxOperations } from './operations/inbox.ts'
import { machineOperations } from './operations/machines.ts'
import { messageOperations } from './operations/messages.ts'
import { needOperations } from './operations/needs.ts'
import { noticeOperations } from './operations/notices.ts'
import { runOperations } from './operations/runs.ts'
import { spendOperations } from './operations/spend.ts'
import { workerOperations } from './operations/workers.ts'

export type { WorkspaceStatus } from './operations/daemon.ts'
export type { CallerRank, NetworkCredential, OperationKind, OperationRule } from './operations/rule.ts'
export type { WorkspaceEntry } from './workspace-entry.ts'

export const operations = {
  ...agentOperations,
  ...channelOperations,
  ...messageOperations,
  ...historyOperations,
  ...inboxOperations,
  ...eventOperations,
  ...actionOperations,
  ...workerOperations,
  ...runOperations,
  ...claimOperations,
  ...approvalOperations,
  ...needOperations,
  ...noticeOperations,
  ...spendOperations,
  ...machineOperations,
  ...daemonOperations,
}

export type Operations = typeof operations
export type OperationName = keyof Operations
export type CommandName = { [O in OperationName]: Operations[O]['kind'] extends 'command' ? O : never }[OperationName]
export type WatchName = { [O in OperationName]: Operations[O]['kind'] extends 'watch' ? O : never }[OperationName]
export type CallName = Exclude<OperationName, WatchName>
/** The names of the operations on the control socket, which are about the daemon and not about one workspace. */
export type OwnerCallName = { [O in CallName]: Operations[O]['who'] extends 'owner' ? O : never }[CallName]
/**
 * `InputOf`: the input of an operation as a caller writes it. `ParsedInputOf`: the input as the daemon's handler gets it, with the defaults of the schema
 * filled in.
 */
export type InputOf<O extends OperationName> = z.input<Operations[O]['input']>
export type ParsedInputOf<O extends OperationName> = z.output<Operations[O]['input']>
export type OutputOf<O extends OperationName> = z.output<Operations[O]['output']>

export function isOperation(name: unknown): name is OperationName {
  return typeof name === 'string' && Object.hasOwn(operations, name)
}
