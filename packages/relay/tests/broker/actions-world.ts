// A real daemon, MCP clients of the official SDK on the pipe and on /mcp in both eras, and programs that offer actions. No tests.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { Actions, type Registration } from '@agent-relay/sdk/internal/client'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { z } from 'zod'
import { pipeLauncher } from '../cli/cli-world.ts'
import { HttpWorld, type Json } from '../wires/http-world.ts'

export const wires = ['pipe', '2025', '2026'] as const
export type Wire = (typeof wires)[number]

const providerScript = fileURLToPath(new URL('actions-provider.mjs', import.meta.url))

export interface Answered {
  isError: boolean
  /** What the tool answered, where that is JSON. */
  data: Json
  text: string
  /** The line about waiting mail, where it stands by itself. */
  hint?: string
}

function jsonOf(text = ''): Json {
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : {}
}

/** An MCP client, as its host uses it. On the stateless wire it shows the token that register_agent answered. */
export class McpAgent {
  readonly client: Client
  readonly wire: Wire
  readonly notes: { method: string; params?: Json }[] = []
  token: string | undefined

  constructor(client: Client, wire: Wire) {
    this.client = client
    this.wire = wire
    client.fallbackNotificationHandler = async (note) => void this.notes.push(note as never)
    client.setNotificationHandler('notifications/tools/list_changed', (note) => void this.notes.push(note as never))
  }

  async call(name: string, args: Json = {}, options: { signal?: AbortSignal } = {}): Promise<Answered> {
    const shown = this.token === undefined ? args : { ...args, agent_token: this.token }
    const result = await this.client.callTool({ name, arguments: shown }, options)
    const [first, second] = result.content as { text: string }[]
    return {
      isError: result.isError === true,
      data: jsonOf(first?.text),
      text: first?.text ?? '',
      hint: second?.text.trim(),
    }
  }

  async register(name: string, more: Json = {}): Promise<Json> {
    const { data } = await this.call('register_agent', { name, ...more })
    if (this.wire === '2026') this.token = data.agent_token
    return data
  }

  async tools(): Promise<Json[]> {
    return (await this.client.listTools({}, { cacheMode: 'refresh' })).tools
  }

  async toolNames(): Promise<string[]> {
    return (await this.tools()).map(({ name }) => name)
  }

  events(type: string): Json[] {
    const events = this.notes.filter(({ method }) => method === 'notifications/relay/event')
    return events.map(({ params }) => params as Json).filter((event) => event.type === type)
  }
}

export class ActionsWorld {
  readonly http: HttpWorld
  readonly #clients: { close(): Promise<void> }[] = []
  readonly #programs: RelayClient[] = []
  readonly #children: ChildProcess[] = []

  private constructor(http: HttpWorld) {
    this.http = http
  }

  static async start(): Promise<ActionsWorld> {
    return new ActionsWorld(await HttpWorld.start({}, ['home', 'other']))
  }

  get socketPath(): string {
    return socketPathOf(this.http.dir, 'home')
  }

  /** With the workspace key and no name, unless the environment or the headers give one. */
  async agent(wire: Wire, more: { tools?: string; name?: string; token?: string } = {}): Promise<McpAgent> {
    const { tools = 'workspace', name, token } = more
    const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } }
    const client = new Client({ name: 'test-host', version: '1' }, wire === '2026' ? pinned : {})
    const agent = new McpAgent(client, wire)
    this.#clients.push(client)
    const key = this.http.key
    if (wire === 'pipe') {
      const named: Record<string, string> = name === undefined ? {} : { RELAY_AGENT_NAME: name }
      const env = {
        PATH: process.env.PATH ?? '',
        HOME: this.http.dir,
        RELAY_DATA_DIR: this.http.dir,
        RELAY_PROJECT: 'home',
        RELAY_TOOLS: tools,
        RELAY_WORKSPACE_KEY: key,
        NODE_EXTRA_CA_CERTS: '',
        ...named,
      }
      const args = [pipeLauncher, 'serve']
      await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: this.http.dir }))
    } else {
      const named: Record<string, string> = name === undefined ? {} : { 'x-relay-agent': name }
      const requestInit = { headers: { authorization: `Bearer ${token ?? key}`, ...named } }
      const url = new URL(`${this.http.url}/mcp?tools=${tools}`)
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
    }
    return agent
  }

  /** A program over the SDK. */
  async program(name: string): Promise<{ client: RelayClient; actions: Actions }> {
    const client = new RelayClient({ agentName: name, socketPath: this.socketPath, autoConnect: false })
    client.on('error', () => {})
    this.#programs.push(client)
    await client.connect()
    return { client, actions: new Actions(client) }
  }

  /** A program in a process of its own, which can be killed. */
  async child(name: string): Promise<ChildProcess> {
    const child = spawn(process.execPath, [providerScript, this.socketPath, name], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#children.push(child)
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => {
        throw new Error(`the provider ended: ${said}`)
      }),
    ])
    return child
  }

  async stop(): Promise<void> {
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all(this.#clients.map((client) => client.close().catch(() => {})))
    await Promise.all(this.#programs.map((client) => client.disconnect().catch(() => {})))
    await this.http.stop()
  }
}

/** A program whose actions a test offers, and takes back when it is over. */
export class Provider {
  readonly #world: ActionsWorld
  readonly #program: { actions: Actions }
  readonly #offered: { withdraw(): Promise<unknown> }[] = []

  constructor(world: ActionsWorld, program: { actions: Actions }) {
    this.#world = world
    this.#program = program
  }

  async offer(name: string, handler: (input: Json) => unknown, more: object = {}): Promise<Registration> {
    const definition = { name, description: `Does ${name}.`, inputSchema: z.looseObject({}), handler, ...more }
    const made = await this.#program.actions.register(definition)
    this.#offered.push(made)
    return made
  }

  /** One that is answered by hand, as no SDK would. */
  async rawOffer(name: string, answer: (invocation: string, client: RelayClient) => void, more: object = {}) {
    const { client } = await this.#world.program(`raw-${name}`)
    client.follow('action.follow', ({ invocation }) => answer(invocation, client))
    await client.call('action.register', { name, description: 'x', inputSchema: { type: 'object' }, ...more })
    this.#offered.push({ withdraw: () => client.call('action.withdraw', { name }) })
  }

  async withdraw(): Promise<void> {
    for (const each of this.#offered.splice(0)) await each.withdraw()
  }
}
