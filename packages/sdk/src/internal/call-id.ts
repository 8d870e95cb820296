// The id of one MCP call, by which a call that is sent again runs once. The daemon uses it for pipes, and the MCP package for HTTP.

/** A JSON-RPC id is unique within its session, and the id of a session or pipe is unique in the world. */
export function callId(session: string, rpcId: string | number): string {
  return `${session}/${typeof rpcId === 'number' ? rpcId : JSON.stringify(rpcId)}`
}
