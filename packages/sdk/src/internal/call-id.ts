// Makes the id of one MCP call; a call that is sent again has the same id and therefore runs once. The daemon uses this for pipes, and the MCP package for
// HTTP.

/** Joins the id of the session (or pipe), which is unique in the world, with the JSON-RPC id, which is unique in the session. */
export function callId(session: string, rpcId: string | number): string {
  return `${session}/${typeof rpcId === 'number' ? rpcId : JSON.stringify(rpcId)}`
}
