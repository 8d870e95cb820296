// Reads from a CALL frame which operation it asks for, and tells how long and how large the answer may be.

import { type Call, type Envelope, isOperation, operations } from '@agent-relay/sdk/protocol'

/** Whether a call may take long: a query, `inbox.take`, a pruning, or a call that asks to wait. Other calls are answered before a client could cancel them. */
export function mayTakeLong(op: string, input: unknown): boolean {
  return isPagedCall(op) || op === 'workspace.prune' || (typeof input === 'object' && input !== null && 'wait' in input)
}

export function isPagedCall(op: string): boolean {
  return op === 'inbox.take' || (isOperation(op) && operations[op].kind === 'query')
}

export function callInFrame({ payload }: Envelope): Call {
  const { op, input } = (payload ?? {}) as Partial<Call>
  return { op: String(op), input }
}
