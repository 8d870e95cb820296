// Mutated requests to the HTTP port without end: most in their head, the others in the body of a call or of MCP, and now and then one as a
// whole, on a connection of its own. A head costs the daemon a tenth of a body.

import { FrameMutator, validFrames } from '@agent-relay/prove/harness/mutator'
import type { Random } from '@agent-relay/prove/harness/random'
import { RawHttp, requestOf } from '../harness/raw-http.ts'

const lanes = 8
const perBatch = 25
/** After so many batches one request is damaged as a whole, its head too, on a connection of its own. */
const wholeEvery = 8

const calls = validFrames.flatMap((line) => {
  const { type, payload } = JSON.parse(line)
  // A call that waits would hold up the answers behind it.
  return type === 'CALL' && payload.input.wait === undefined
    ? [{ path: `/api/${payload.op}`, body: JSON.stringify(payload.input) }]
    : []
})
const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const stateless = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
const mcp = [
  rpc('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'mutant', version: '1' } }),
  rpc('tools/call', { name: 'relay_who', arguments: { include_idle: true }, _meta: stateless }),
  rpc('tools/call', { name: 'relay_send', arguments: { to: 'mutant-b', message: 'äöü €😀' }, _meta: stateless }),
  rpc('resources/read', { uri: 'relay://agents', _meta: stateless }),
].map((body) => ({ path: '/mcp', body }))
const runs = ['/api/agents', '/api/agents/x/stop', '/session', '/messages?sessionId=x'].map((path) => ({
  path,
  body: '{"reason":"x"}',
}))
/** Calls most of all: an MCP session costs the daemon a hundred times as much as a refusal. */
const requests = [...calls, ...calls, ...calls, ...runs, ...mcp]

const headsOfTen = 7
/** What a head may hold without ending its connection. */
const values = [
  'Bearer rk_0123456789abcdef',
  'at_x; agent_relay_8101=w.1.2.3',
  'application/json, text/event-stream;q=0.9',
  '2026-07-28',
  'gzip;q=0, *;q=1.0',
  'mutant-b',
]
const names = [
  'authorization',
  'cookie',
  'accept',
  'mcp-protocol-version',
  'mcp-session-id',
  'x-relay-agent',
  'x-relay-call-id',
]
const plain = ['GET /healthz', 'OPTIONS /api/agent.list', 'OPTIONS /mcp', 'GET /healthz', 'OPTIONS /ws', 'GET /healthz']
const served = ['GET /session', 'GET /api/agents', 'GET /mcp']

export interface HttpFuzzed {
  sent: number
  connections: number
  faults: string[]
  /** How many of each status. */
  statuses: Record<number, number>
}

export async function fuzzHttp(url: string, key: string, random: Random, count: number): Promise<HttpFuzzed> {
  const bodies = new FrameMutator(
    random,
    requests.map(({ body }) => body),
  )
  const heads = new FrameMutator(random, values)
  const faults = new Set<string>()
  const statuses: Record<number, number> = {}
  let [sent, connections] = [0, 0]
  const lane = async (name: string) => {
    const headers = {
      ...{ host: new URL(url).host, authorization: `Bearer ${key}`, 'x-relay-agent': name },
      accept: 'application/json, text/event-stream',
    }
    const oneHead = () => {
      const [method = '', path = ''] = random.pick(random.below(20) === 0 ? served : plain).split(' ')
      const text = legal(heads.next())
      return requestOf(
        method,
        `${path}?${encodeURIComponent(text)}`,
        { host: headers.host, [random.pick(names)]: text },
        '',
      )
    }
    const oneBody = () => requestOf('POST', random.pick(requests).path, headers, bodies.next())
    const whole = new FrameMutator(
      random,
      requests.map(({ path, body }) => requestOf('POST', path, headers, body).toString('latin1')),
    )
    while (sent < count) {
      const raw = await RawHttp.open(url)
      connections++
      for (let batch = 1; sent < count && !raw.isClosed; batch++) {
        const answers = Array.from({ length: perBatch }, () =>
          raw.write(random.below(10) < headsOfTen ? oneHead() : oneBody()),
        )
        for (const { status, body } of await Promise.all(answers)) {
          statuses[status] = (statuses[status] ?? 0) + 1
          // Of a batch that ended the connection only what was answered counts as sent.
          if (status !== 0) sent++
          if (status === 500) faults.add(body.slice(0, 300))
        }
        if (batch % wholeEvery === 0) await sendDamaged(url, whole.next())
      }
      await raw.end()
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, i) => lane(`mutant-${'abcdefgh'[i]}`)))
  return { sent, connections, faults: [...faults], statuses }
}

/** Half closed behind it, so that the daemon waits for nothing more. */
async function sendDamaged(url: string, bytes: Uint8Array): Promise<void> {
  const raw = await RawHttp.open(url)
  raw.socket.end(bytes)
  await raw.closed
}

/** Printable and of one line: what a header's value may be. */
function legal(bytes: Buffer): string {
  return bytes
    .toString('latin1')
    .replace(/[^ -~]/g, '')
    .slice(0, 2_000)
}
