// Takes the pipe's place if no workspace can be used (its configuration is invalid, or it is not open): every request is answered with the reason.

import type { Readable, Writable } from 'node:stream'
import { cleanLineForModel } from '@agent-relay/sdk/internal/clean'
import { serverInfo } from '@agent-relay/sdk/internal/no-daemon-answers'
import { pipeLimits } from '@agent-relay/sdk/internal/pipe-limits'
import { LineSplitter } from './lines.cts'
import { connectionClosedCode, parseMessage, type RpcId, type RpcMessage, rpcErrorLine, rpcLine } from './rpc.cts'

export { clean, cleanLineForModel } from '@agent-relay/sdk/internal/clean'

/**
 * Answers all requests with `reason`, cleaned, since it contains paths that somebody else may have chosen. `early`: bytes that the host has sent
 * already.
 */
export function refuseAllRequests(
  input: Readable,
  output: Writable,
  early: Buffer,
  reason: string,
  version: string,
): void {
  const why = cleanLineForModel(reason)
  const server = { capabilities: { tools: {} }, serverInfo: serverInfo(version) }
  // A longer line is ignored and gets no answer.
  const lines = new LineSplitter(pipeLimits.lineBytesMax, {
    line: (line) => {
      const { id, method, params } = parseMessage(line) ?? {}
      if (id !== undefined && id !== null && method !== undefined) output.write(answer(id, method, params, why, server))
    },
    tooLong: () => {},
  })
  input.on('data', (chunk: Buffer) => lines.push(chunk))
  lines.push(early)
}

/** Answers one request with the reason. Most hosts hide the stderr of a server that ends, but the agent sees this answer and can tell its user. */
function answer(id: RpcId, method: string, params: RpcMessage['params'], why: string, server: object): string {
  if (method === 'ping') return rpcLine({ id, result: {} })
  if (method === 'initialize') {
    const instructions = `The relay cannot be used here. ${why}`
    return rpcLine({ id, result: { protocolVersion: params?.protocolVersion, ...server, instructions } })
  }
  if (method !== 'tools/call') return rpcErrorLine(id, connectionClosedCode, why)
  return rpcLine({ id, result: { content: [{ type: 'text', text: `Error: ${why}` }], isError: true } })
}
