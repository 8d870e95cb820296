// A real daemon on a free loopback port, in memory, and its clients: plain HTTP, raw sockets, and the official MCP client on each transport. No tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { type Link, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { WebSocket } from 'ws'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'

export const eras = ['2025', '2026', 'sse'] as const
export type Era = (typeof eras)[number]
type Headers = Record<string, string>

export class HttpWorld {
  readonly dir: string
  readonly daemon: Daemon
  readonly troubles: Error[]
  readonly keys = new Map<string, string>()
  readonly #clients: Client[] = []

  private constructor(dir: string, daemon: Daemon, troubles: Error[]) {
    this.dir = dir
    this.daemon = daemon
    this.troubles = troubles
  }

  static async start(
    http: Partial<DaemonOptions['http']> = {},
    workspaces = ['home'],
    more: Pick<DaemonOptions, 'env' | 'runLimits' | 'roles' | 'harnesses' | 'clock' | 'isMemory'> = {},
  ): Promise<HttpWorld> {
    const dir = mkdtempSync(join(tmpdir(), 'relay-http-'))
    const troubles: Error[] = []
    const daemon = await Daemon.start({
      dataDir: dir,
      credentialsPath: join(dir, 'credentials.json'),
      isMemory: true,
      ...more,
      http: { port: 0, home: workspaces[0], ...http },
      onTrouble: (error) => void troubles.push(error),
      onStop: () => {},
    }).catch((error) => {
      rmSync(dir, { recursive: true, force: true })
      throw error
    })
    const world = new HttpWorld(dir, daemon as Daemon, troubles)
    for (const name of workspaces) world.keys.set(name, (await world.daemon.open(name)).key as string)
    return world
  }

  get url(): string {
    return this.daemon.url as string
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get key(): string {
    return [...this.keys.values()][0] as string
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close().catch(() => {})))
    await this.daemon.stop()
    rmSync(this.dir, { recursive: true, force: true })
  }

  /** As the key's holder, unless the headers say otherwise. */
  async post(path: string, body: unknown, headers: Headers = {}): Promise<{ status: number; body: Json }> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.key}`, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : { text } }
  }

  api(operation: string, input: unknown = {}, headers: Headers = {}) {
    return this.post(`/api/${operation}`, input, headers)
  }

  /** Registers a name and answers its token. */
  async token(name: string): Promise<string> {
    return (await this.api('agent.register', { name })).body.token as string
  }

  as(name: string): Headers {
    return { authorization: `Bearer ${this.key}`, 'x-relay-agent': name }
  }

  /** The cookie of a person's browser. Where agents have processes, nobody but a person at a terminal gets the link for it. */
  async login(): Promise<string> {
    const control = await socketConnector(controlSocketPath(this.dir))({})
    const { url } = await control.call('page.link', { workspace: 'home' }, 'login')
    await control.close()
    const headers = { origin: this.url, 'x-relay-page': '1', 'content-type': 'application/json' }
    const body = JSON.stringify({ code: new URL(url).searchParams.get('code') })
    const response = await fetch(`${this.url}/session`, { method: 'POST', headers, body })
    return response.headers.get('set-cookie')?.split(';')[0] as string
  }

  /** The page's own connection, as a browser opens it. */
  page(headers: Headers): Promise<Link> {
    const open = (url: string) => new WebSocket(url, { headers: { origin: this.url, ...headers } }) as never
    return websocketConnector(`${this.url}/ws?page=1`, { open })({})
  }

  async client(era: Era, headers: Headers, options: { query?: string; name?: string } = {}): Promise<Client> {
    const { query, name = 'test-client' } = options
    const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
    const client = new Client({ name, version: '1' }, era === '2026' ? pinned : {})
    const url = new URL(this.url + (era === 'sse' ? '/sse' : '/mcp') + (query === undefined ? '' : `?${query}`))
    const requestInit = { headers }
    await client.connect(
      era === 'sse'
        ? new SSEClientTransport(url, { requestInit })
        : new StreamableHTTPClientTransport(url, { requestInit }),
    )
    this.#clients.push(client)
    return client
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, looked at by tests
export type Json = Record<string, any>

export const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` })

export async function textOf(client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: input })
  return (content as { text: string }[]).map(({ text }) => text).join('')
}

/** What a tool answers as JSON; its error is thrown. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into it as they need
export async function called(client: Client, name: string, input: Record<string, unknown> = {}): Promise<any> {
  const { content, isError } = await client.callTool({ name, arguments: input })
  const text = (content as { text: string }[])[0]?.text ?? ''
  if (isError) throw new Error(text)
  return JSON.parse(text)
}

/** Bytes as they are, and the answer's status, or 0 where the connection was closed without one. */
export function rawStatus(port: number, request: string, host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    let answer = ''
    const done = () => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0))
    }
    socket.setEncoding('latin1')
    socket.on('data', (text) => {
      answer += text
      if (answer.includes('\r\n\r\n')) done()
    })
    socket.on('close', done)
    socket.on('error', done)
    socket.write(request, 'latin1')
  })
}
