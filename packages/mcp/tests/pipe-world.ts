// A data directory, a daemon process that can be stopped, killed and started again, and real pipe processes on it. No tests.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { joinPipe } from '../../../scripts/join-pipe.mjs'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
export const daemonLauncher = at('../../relay/bin/agent-relay.cjs')
export const pipeLauncher = at('../bin/agent-relay-mcp.cjs')
// A plain `tsc -b` leaves the joined files as they were.
joinPipe(at('../../..'))

export type Env = Record<string, string>
// biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they come
export type Json = any

export class PipeWorld {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'pipe-')))
  readonly socketPath = join(this.root, 'projects/play/daemon.sock')
  readonly #directory = join(this.root, 'app')
  readonly #clients: Client[] = []
  readonly #pipes: RawPipe[] = []
  #daemon: ChildProcess | undefined
  #url = ''

  static async start(): Promise<PipeWorld> {
    const world = new PipeWorld()
    await world.startDaemon()
    return world
  }

  async startDaemon(): Promise<void> {
    mkdirSync(this.#directory, { recursive: true })
    const args = ['up', '--project', 'play', '--json']
    const daemon = spawn(process.execPath, [daemonLauncher, ...args], {
      // Not where the pipes are: it leaves a note there, which leads them to it.
      cwd: this.#directory,
      env: this.env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#daemon = daemon
    let said = ''
    daemon.stderr.on('data', (chunk) => {
      said += chunk
    })
    const [ready] = await Promise.race([
      once(daemon.stdout, 'data'),
      once(daemon, 'exit').then(() => {
        throw new Error(`the daemon ended: ${said}`)
      }),
    ])
    this.#url = JSON.parse(ready).url
    daemon.stdout.resume()
    await warmUp(this.socketPath)
  }

  /** Variables of a pipe that does not know the socket. */
  overHttp(): Env {
    const keys = Object.values<Json>(JSON.parse(readFileSync(join(this.root, 'credentials.json'), 'utf8')))
    const key = /rk_[\w-]+/.exec(JSON.stringify(keys))?.[0] ?? ''
    return { RELAY_DATA_DIR: '', RELAY_PROJECT: '', RELAY_BASE_URL: this.#url, RELAY_API_KEY: key }
  }

  async stopDaemon(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const daemon = this.#daemon
    this.#daemon = undefined
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return
    const ended = once(daemon, 'exit')
    daemon.kill(signal)
    await ended
  }

  async restartDaemon(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.stopDaemon(signal)
    await this.startDaemon()
  }

  env(extra: Env = {}): Env {
    const { PATH = '' } = process.env
    return {
      PATH,
      HOME: this.root,
      RELAY_DATA_DIR: this.root,
      RELAY_PROJECT: 'play',
      RELAY_PORT: '0',
      NODE_EXTRA_CA_CERTS: '',
      ...extra,
    }
  }

  /** The official client on a pipe of its own. */
  async client(clientName: string, extra: Env = {}): Promise<Client> {
    const client = new Client({ name: clientName, version: '1' })
    this.#clients.push(client)
    const args = [pipeLauncher, 'serve']
    const transport = new StdioClientTransport({
      command: process.execPath,
      args,
      env: this.env(extra),
      cwd: this.root,
    })
    await client.connect(transport)
    return client
  }

  /** A pipe whose lines are written and read by hand. */
  pipe(extra: Env = {}, args: string[] = ['serve'], launcher: string = pipeLauncher, cwd = this.root): RawPipe {
    const pipe = new RawPipe([launcher, ...args], this.env(extra), cwd)
    this.#pipes.push(pipe)
    return pipe
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close()
    for (const pipe of this.#pipes) pipe.child.kill('SIGKILL')
    await this.stopDaemon()
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** The first session loads the MCP server, which may take longer on a busy machine than a call waits for a daemon. */
async function warmUp(socketPath: string): Promise<void> {
  const socket = connect(socketPath)
  const hello = { v: 1, type: 'HELLO', id: 'pipe', ts: 0, payload: { mcp: { pipe: `p_warm_up_${Date.now()}` } } }
  socket.write(`${JSON.stringify(hello)}\n{"jsonrpc":"2.0","id":0,"method":"ping"}\n`)
  await once(socket, 'data')
  socket.destroy()
}

export class RawPipe {
  readonly child: ChildProcess
  readonly lines: Json[] = []
  readonly ended: Promise<{ code: number | null; stderr: string }>
  stderr = ''
  #id = 0
  #rest = ''

  constructor(args: string[], env: Env, cwd: string) {
    this.child = spawn(process.execPath, args, { env, cwd, stdio: 'pipe' })
    this.child.stdin?.on('error', () => {})
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const parts = (this.#rest + text).split('\n')
      this.#rest = parts.pop() as string
      for (const part of parts) this.lines.push(JSON.parse(part))
    })
    this.ended = once(this.child, 'close').then(([code]) => ({ code, stderr: this.stderr }))
  }

  write(text: string): void {
    this.child.stdin?.write(text)
  }

  say(message: object): void {
    this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** Writes a request; the answer may come when it likes. */
  post(method: string, params: object = {}): number {
    this.say({ id: this.#id, method, params })
    return this.#id++
  }

  async answer(id: number | string | null): Promise<Json> {
    const found = () => this.lines.find((line) => line.id === id && line.method === undefined)
    await until(() => found() !== undefined)
    return found()
  }

  ask(method: string, params: object = {}): Promise<Json> {
    return this.answer(this.post(method, params))
  }

  async initialize(name = 'raw'): Promise<void> {
    await this.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name, version: '1' },
    })
    this.say({ method: 'notifications/initialized' })
  }

  postCall(name: string, args: object = {}): number {
    return this.post('tools/call', { name, arguments: args })
  }

  async call(name: string, args: object = {}): Promise<string> {
    return textOf((await this.answer(this.postCall(name, args))).result)
  }
}

export function textOf(result: Json): string {
  return result.content[0].text
}

export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  return textOf(await client.callTool({ name, arguments: args }))
}

export async function until(isSo: () => boolean, ms = 45_000): Promise<void> {
  for (const end = Date.now() + ms; !isSo(); await sleep(5)) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${isSo}`)
  }
}
