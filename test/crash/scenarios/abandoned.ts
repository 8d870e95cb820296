// MCP sessions that are opened and left behind, of both eras: 2025 ones without a name, and stateless callers who each use another one.

import type { DaemonProcess, Trial } from '@agent-relay/prove/harness/processes'
import { type HttpAnswer, RawHttp } from '../harness/raw-http.ts'

export interface Abandoned {
  /** How many of each status the 2025 era and the stateless one were answered. */
  statuses: Record<'sessions' | 'stateless', Record<number, number>>
  /** Agents that the sessions without a name have left in the tables. */
  agentsLeft: number
  /** What a session that comes after them all is called. */
  lateName: string
  /** Names that two live sessions had at once. */
  doubled: string[]
}

const lanes = 8
const accept = 'application/json, text/event-stream'
const rpc = (id: number | undefined, method: string, params: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })
const clientInfo = { name: 'agent', version: '1' }
const initialize = rpc(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
const initialized = rpc(undefined, 'notifications/initialized', {})
const who = rpc(2, 'tools/call', { name: 'relay_status', arguments: {} })
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
}
const stateless = rpc(1, 'tools/call', { name: 'relay_status', arguments: {}, _meta: meta })
/** As many callers by name as the daemon keeps, and half as many again: beyond that each only makes room for the next. */
const callersMax = 1_500

export async function abandonSessions({ key }: Trial, { url }: DaemonProcess, count: number): Promise<Abandoned> {
  const statuses: Abandoned['statuses'] = { sessions: {}, stateless: {} }
  const doubled: string[] = []
  const newest: string[] = []
  const authorization = `Bearer ${key}`
  const noteTo = (place: Record<number, number>) => (answer: HttpAnswer) => {
    place[answer.status] = (place[answer.status] ?? 0) + 1
    return answer
  }
  const openOne = async (raw: RawHttp): Promise<string> => {
    const note = noteTo(statuses.sessions)
    const opened = note(await raw.post('/mcp', initialize, { authorization, accept }))
    const session = { authorization, accept, 'mcp-session-id': opened.headers['mcp-session-id'] ?? '' }
    void raw.post('/mcp', initialized, session).then(note)
    const answer = note(await raw.post('/mcp', who, session))
    return /Agent Name: ([\w-]+)/.exec(answer.body)?.[1] ?? answer.body.slice(0, 200)
  }
  const before = await agentsOf(url, key)
  await inLanes(url, count, async (raw) => {
    const name = await openOne(raw)
    // The last few hundred sessions have not expired yet.
    if (newest.includes(name)) doubled.push(name)
    newest.push(name)
    if (newest.length > 500) newest.shift()
  })
  const agentsLeft = (await agentsOf(url, key)) - before
  const note = noteTo(statuses.stateless)
  await inLanes(url, count, async (raw, i) => {
    const headers = {
      authorization,
      accept,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'relay_status',
      'x-relay-agent': `caller-${i % callersMax}`,
    }
    const answered = raw.post('/mcp', stateless, headers)
    // One in ten leaves before its answer comes.
    if (i % 10 === 9) return void (await raw.end())
    note(await answered)
  })
  const raw = await RawHttp.open(url)
  const lateName = await openOne(raw)
  await raw.end()
  return { statuses, agentsLeft, lateName, doubled }
}

async function inLanes(url: string, count: number, work: (raw: RawHttp, i: number) => Promise<void>): Promise<void> {
  let next = 0
  const lane = async () => {
    let raw = await RawHttp.open(url)
    while (next < count) {
      const i = next++
      if (raw.isClosed) raw = await RawHttp.open(url)
      await work(raw, i)
    }
    await raw.end()
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function agentsOf(url: string, key: string): Promise<number> {
  const raw = await RawHttp.open(url)
  const { body } = await raw.post('/api/workspace.status', '{}', { authorization: `Bearer ${key}` })
  await raw.end()
  return JSON.parse(body).agents
}
