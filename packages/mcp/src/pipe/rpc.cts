// JSON-RPC as far as the pipe looks into it: ids, methods, and the pipe's own lines.

/** The code that SDKs use for a connection that is gone. */
export const connectionClosedCode = -32_000
export const methodNotFoundCode = -32_601

export type RpcId = string | number

export interface RpcMessage {
  id?: RpcId | null
  method?: string
  params?: Record<string, unknown>
  result?: unknown
  error?: unknown
}

/** A line of the relay's own protocol. */
export interface RelayFrame {
  type?: string
  payload?: { agent?: string; token?: string; code?: string; message?: string; retry?: boolean }
}

/** Parses one JSON object; returns undefined for anything else, also for a batch, which newer versions of MCP do not have. */
export function parseMessage(line: Buffer): RpcMessage | undefined {
  try {
    const value: unknown = JSON.parse(line.toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Whether a tools/call subscribes the host to events. */
export function isEventSubscription(params: RpcMessage['params']): boolean {
  return params?.name === 'subscribe_events' || params?.name === 'subscribe.events'
}

export function rpcLine(message: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`
}

export function rpcErrorLine(id: RpcId | null, code: number, message: string): string {
  return rpcLine({ id, error: { code, message } })
}

const id = String.raw`"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")`
const idAtStart = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${id}`)
/** The id at the end of a line. The last brace closes the outermost object, so the text right before it belongs to that. */
const idAtEnd = new RegExp(String.raw`${id}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

/** The id of a line that was too long to keep, if it stands at one end of the line: there SDKs write it. */
export function idOfTruncatedLine(head: string, tail: string): RpcId | undefined {
  const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1]
  try {
    return found === undefined ? undefined : JSON.parse(found)
  } catch {
    return undefined
  }
}
