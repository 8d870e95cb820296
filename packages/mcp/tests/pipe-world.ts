// A data directory, a daemon process that can be stopped, killed and started again, and real pipe processes on it. No tests.

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { RawPipe, toolText } from '@agent-relay/prove/harness/pipe'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { joinPipe } from '../../../scripts/join-pipe.mjs'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
export const daemonLauncher = at('../../relay/bin/agent-relay.cjs')
export const pipeLauncher = at('../bin/agent-relay-mcp.cjs')
// A plain `tsc -b` writes only the types of the pipe.
joinPipe(at('../../..'))

export type Env = Record<string, string>
// biome-ignore lint/suspicious/noExplicitAny: answers are looked into as they come
export type Json = any

/** How a child ended, and what it said. */
export async function outcomeOf(child: ChildProcessWithoutNullStreams) {
  const out = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    out.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    out.stderr += chunk
  })
  const [code] = await once(child, 'close')
  return { code: code as number, ...out }
}

export class PipeWorld {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'pipe-')))
  readonly #directory = join(this.root, 'app')
  readonly #clients: Client[] = []
  readonly #pipes: RawPipe[] = []
  #daemon: ChildProcess | undefined
  #workspaces = 0
  #url = ''

  static async start(): Promise<PipeWorld> {
    const world = new PipeWorld()
    await world.startDaemon()
    return world
  }

  get project(): string {
    return this.#workspaces === 0 ? 'play' : `play-${this.#workspaces}`
  }

  get socketPath(): string {
    return join(this.root, 'projects', this.project, 'daemon.sock')
  }

  /** Ends what a test has left, and opens a new workspace in the same daemon. */
  async renew(): Promise<void> {
    await this.#endPipes()
    if (!this.#daemon) await this.startDaemon()
    const control = await RawConnection.connectAs(join(this.root, 'control.sock'))
    await control.call('workspace.remove', { workspace: this.project, force: true })
    this.#workspaces++
    await control.call('workspace.open', { workspace: this.project })
    await control.end()
  }

  async startDaemon(): Promise<void> {
    mkdirSync(this.#directory, { recursive: true })
    const args = ['up', '--project', this.project, '--json']
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
      // Its first line: events of pipes that come back at once may follow in the same piece.
      once(createInterface({ input: daemon.stdout }), 'line'),
      once(daemon, 'exit').then(() => {
        throw new Error(`the daemon ended: ${said}`)
      }),
    ])
    this.#url = JSON.parse(ready).url
    await warmUp(this.socketPath)
  }

  /** Variables of a pipe that does not know the socket. */
  overHttp(): Env {
    const { workspaces } = JSON.parse(readFileSync(join(this.root, 'credentials.json'), 'utf8'))
    const { key = '' } = Object.values<Json>(workspaces).find(({ name }) => name === this.project) ?? {}
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
      RELAY_PROJECT: this.project,
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
    await this.#endPipes()
    await this.stopDaemon()
    rmSync(this.root, { recursive: true, force: true })
  }

  async #endPipes(): Promise<void> {
    for (const client of this.#clients.splice(0)) await client.close()
    for (const { child, ended } of this.#pipes.splice(0)) {
      child.kill('SIGKILL')
      await ended
    }
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

export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  return toolText(await client.callTool({ name, arguments: args }))
}
