// The traffic of two hours in minutes: agents come, talk and go over HTTP sessions, SSE and pipes. The daemon's memory must not grow with the count.

import { connect } from 'node:net'
import { type DaemonProcess, inTrial, type Trial } from '@agent-relay/prove/harness/processes'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { RawHttp } from '../harness/raw-http.ts'

export interface SoakReport {
  calls: number
  seconds: number
  failures: string[]
  /** Medians over the third and the last quarter. */
  rssMb: { third: number; last: number }
  descriptors: { third: number; last: number }
  exit: number | null
  daemonErrors: string
}

/** One agent's way to call tools. */
interface Caller {
  call(name: string, args: object): Promise<string>
  leave(): Promise<void>
}

/** The last call of a visit is a send: an inbox that was handed out and never followed by a call would be held for ten minutes. */
const callsPerVisit = 41
const looksEach = 100
const clientInfo = { name: 'soak', version: '1' }
const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
const rpc = (id: number | undefined, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

export function soak(count: number): Promise<SoakReport> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const daemon = await scene.startDaemon({ hasHttp: true })
    const failures: string[] = []
    const looks: { rssMb: number; descriptors: number }[] = []
    let calls = 0
    const from = performance.now()
    const note = (text: string) => {
      if (/^Error|isError|"error"/.test(text) && failures.length < 20) failures.push(text.slice(0, 300))
      if (++calls % Math.ceil(count / looksEach) === 0)
        looks.push({ rssMb: daemon.rssMb(), descriptors: daemon.descriptors() })
    }
    const ways = [overSession, overSse, overPipe, overSession, overSse, overPipe]
    const lane = async (open: Way, i: number) => {
      for (let visit = 0; calls < count; visit++) {
        const caller = await open(scene, daemon, `soak-${i}`, visit)
        for (let n = 0; n < callsPerVisit && calls < count; n++)
          for (const text of await talk(caller, i, ways.length, n)) note(text)
        await caller.leave()
      }
    }
    await register(scene, daemon, ways.length)
    await Promise.all(ways.map(lane))
    const seconds = Math.round((performance.now() - from) / 1000)
    const quarter = (which: number, of: 'rssMb' | 'descriptors') =>
      median(looks.slice((looks.length * which) / 4, (looks.length * (which + 1)) / 4).map((look) => look[of]))
    const rssMb = { third: quarter(2, 'rssMb'), last: quarter(3, 'rssMb') }
    const descriptors = { third: quarter(2, 'descriptors'), last: quarter(3, 'descriptors') }
    const exit = (await daemon.end('SIGTERM')).code
    return { calls, seconds, failures, rssMb, descriptors, exit, daemonErrors: daemon.errors }
  })
}

type Way = (scene: Trial, daemon: DaemonProcess, name: string, visit: number) => Promise<Caller>

/** One call of this agent: a send to one of the channels, or a read. */
async function talk(caller: Caller, i: number, of: number, n: number): Promise<string[]> {
  // Not all to one: a pair may exchange forty messages a minute.
  if (n % 8 === 0)
    return [await caller.call('relay_send', { to: `#soak-${(i + n / 8) % of}`, message: `word ${n} of ${i}` })]
  return [await caller.call(['relay_inbox', 'relay_who', 'relay_status'][n % 3] as string, {})]
}

async function register({ key }: Trial, { url }: DaemonProcess, count: number): Promise<void> {
  const raw = await RawHttp.open(url)
  const headers = { authorization: `Bearer ${key}` }
  for (let i = 0; i < count; i++) {
    const profile = { name: `soak-${i}`, channels: [`#soak-${i}`] }
    await raw.post('/api/agent.register', JSON.stringify(profile), headers)
  }
  await raw.end()
}

/** Half of the visits end without a goodbye. */
async function overSession({ key }: Trial, { url }: DaemonProcess, name: string, visit: number): Promise<Caller> {
  const raw = await RawHttp.open(url)
  const accept = 'application/json, text/event-stream'
  const who = { authorization: `Bearer ${key}`, 'x-relay-agent': name, accept }
  const opened = await raw.post('/mcp', rpc(0, 'initialize', initialize), who)
  const session = { ...who, 'mcp-session-id': opened.headers['mcp-session-id'] ?? '' }
  await raw.post('/mcp', rpc(undefined, 'notifications/initialized'), session)
  let id = 0
  return {
    call: async (tool, args) =>
      (await raw.post('/mcp', rpc(++id, 'tools/call', { name: tool, arguments: args }), session)).body,
    leave: async () => {
      if (visit % 2 === 0) await raw.ask('DELETE', '/mcp', session)
      await raw.end()
    },
  }
}

async function overSse({ key }: Trial, { url }: DaemonProcess, name: string): Promise<Caller> {
  const authorization = `Bearer ${key}`
  const leaving = new AbortController()
  const headers = { authorization, 'x-relay-agent': name }
  const stream = await fetch(`${url}/sse`, { headers, signal: leaving.signal })
  const lines = new Lines()
  void (async () => {
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) lines.push(chunk)
  })()
    .catch(() => {})
    .then(() => lines.end('Error: the stream has ended'))
  const endpoint = (await lines.next((line) => line.startsWith('data: /messages'))).slice(6)
  const posts = await RawHttp.open(url)
  const post = (text: string) => posts.post(endpoint, text, headers)
  // Waited for before it is asked: the answer may come on the stream before the post is answered.
  const initialized = lines.next((line) => line.includes('"id":0'))
  await post(rpc(0, 'initialize', initialize))
  await initialized
  await post(rpc(undefined, 'notifications/initialized'))
  let id = 0
  return {
    call: async (tool, args) => {
      const own = ++id
      const answer = lines.next((line) => line.includes(`"id":${own}`))
      const { status } = await post(rpc(own, 'tools/call', { name: tool, arguments: args }))
      return status === 202 ? answer : `Error: the post was answered with ${status}`
    },
    leave: async () => {
      leaving.abort()
      await posts.end()
    },
  }
}

/** What the stdio pipe carries, over the socket that it would use. */
async function overPipe({ socketPath }: Trial, _: DaemonProcess, name: string, visit: number): Promise<Caller> {
  const socket = connect(socketPath)
  const lines = new Lines()
  socket.on('data', (chunk) => lines.push(chunk)).on('error', () => {})
  socket.on('close', () => lines.end('Error: the pipe has ended'))
  const mcp = { pipe: `soak-${name}-${visit}-${process.pid}`, name }
  socket.write(`${JSON.stringify({ v: 1, type: 'HELLO', id: 'pipe', ts: 0, payload: { mcp } })}\n`)
  socket.write(`${rpc(0, 'initialize', initialize)}\n`)
  await lines.next((line) => line.includes('"id":0'))
  socket.write(`${rpc(undefined, 'notifications/initialized')}\n`)
  let id = 0
  return {
    call: (tool, args) => {
      const own = ++id
      socket.write(`${rpc(own, 'tools/call', { name: tool, arguments: args })}\n`)
      return lines.next((line) => line.includes(`"id":${own}`))
    },
    leave: async () => void socket.destroy(),
  }
}

/** Lines as they come. A caller who waits gets the first line that fits. */
class Lines {
  #rest = ''
  #waiting: { fits(line: string): boolean; take(line: string): void } | undefined
  #ended: string | undefined

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(chunk)).split('\n')
    this.#rest = lines.pop() as string
    for (const line of lines) {
      if (!this.#waiting?.fits(line)) continue
      const { take } = this.#waiting
      this.#waiting = undefined
      take(line)
    }
  }

  /** The stream has ended: every caller who waits gets this text instead of waiting for ever. */
  end(why: string): void {
    this.#ended = why
    this.#waiting?.take(why)
  }

  next(fits: (line: string) => boolean): Promise<string> {
    if (this.#ended !== undefined) return Promise.resolve(this.#ended)
    return new Promise((take) => {
      this.#waiting = { fits, take }
    })
  }
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
