// Makes the id of one MCP call. A call that is sent again gets the same id, so the daemon runs it only once. The daemon uses this for stdio pipes, and the MCP
// package for HTTP.

/** Joins the globally unique id of the session (or pipe) with the JSON-RPC id, which is unique within the session. */
export function callId(session: string, rpcId: string | number): string {
  return `${session}/${typeof rpcId === 'number' ? rpcId : JSON.stringify(rpcId)}`
}
