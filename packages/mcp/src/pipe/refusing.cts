// The pipe of a host in whose directory it is unknown which workspace is meant: it serves nobody's, and says why to whatever is asked.

import type { Readable, Writable } from 'node:stream'
import { Lines } from './lines.cts'
import { errorLine, lineOf, parse, type Rpc, type RpcId } from './rpc.cts'

/** More than any question needs to be understood; the answer is always the same. */
const lineBytesMax = 12 * 1024 * 1024
/** What SDKs use for a connection that is gone. */
const connectionClosed = -32_000

/** `early` is what the host has said already. */
export function refuseAll(input: Readable, output: Writable, early: Buffer, why: string): void {
  const lines = new Lines(lineBytesMax, {
    line: (line) => {
      const { id, method, params } = parse(line) ?? {}
      if (id !== undefined && id !== null && method !== undefined) output.write(answer(id, method, params, why))
    },
    tooLong: () => {},
  })
  input.on('data', (chunk: Buffer) => lines.push(chunk))
  lines.push(early)
}

/** Most hosts hide what a server that ends writes to stderr. What stands here is shown to the agent, who can tell its user. */
function answer(id: RpcId, method: string, params: Rpc['params'], why: string): string {
  if (method === 'ping') return lineOf({ id, result: {} })
  if (method === 'initialize') {
    const serverInfo = { name: 'agent-relay', version: 'unknown' }
    const result = { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo }
    return lineOf({ id, result: { ...result, instructions: `The relay cannot be used here. ${why}` } })
  }
  if (method !== 'tools/call') return errorLine(id, connectionClosed, why)
  return lineOf({ id, result: { content: [{ type: 'text', text: `Error: ${why}` }], isError: true } })
}
