// One real CLI's world: a private home, a scripted model, a daemon that sees nothing else, a lead over MCP and a peer over the SDK. No tests.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import type { InputOf, OutputOf } from '@agent-relay/sdk/protocol'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Cli } from './clis.ts'
import { type Asked, startFakeModel } from './fake-model.mjs'

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
export const daemonLauncher = at('../../packages/relay/bin/agent-relay.cjs')
export const pipeLauncher = at('../../packages/mcp/bin/agent-relay-mcp.cjs')

export class RealWorld {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'real-')))
  readonly work = join(this.root, 'work')
  readonly #home = join(this.root, 'home')
  readonly #socketPath = join(this.root, 'data/projects/play/daemon.sock')
  /** What the model was asked, and said. */
  readonly asked: Asked[] = []
  /** What the peer and, over MCP, the lead were sent. */
  readonly heard: string[] = []
  readonly #lead = new Client({ name: 'lead', version: '1' })
  #peer!: RelayClient
  #model: { url: string; close(): void } | undefined
  #daemon: ChildProcess | undefined
  #daemonEnv: Record<string, string> = {}

  /** The lead's MCP server is a child of this process: with a lead, whatever this process starts is inside of an agent, and never a person. */
  static async start(cli: Cli, folder: string, { hasLead = true } = {}): Promise<RealWorld> {
    const world = new RealWorld()
    await world.#start(cli, folder)
    if (hasLead) await world.#connectLead()
    return world
  }

  async #connectLead(): Promise<void> {
    const env = { ...this.env, RELAY_AGENT_NAME: 'Lead' }
    const args = [pipeLauncher, 'serve']
    await this.#lead.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd: this.root }))
  }

  async #start(cli: Cli, folder: string): Promise<void> {
    for (const path of [this.#home, this.work]) mkdirSync(path)
    execFileSync('git', ['init', '-q'], { cwd: this.work })
    this.#model = await startFakeModel((asked) => this.asked.push(asked))
    this.#daemonEnv = {
      ...this.env,
      ...cli.prepare({ home: this.#home, work: this.work, modelUrl: this.#model.url }),
      PATH: [folder, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
    }
    await this.#up()
    // With the key: an agent sees only the workers that it hired itself.
    this.#peer = new RelayClient({ agentName: 'Peer', socketPath: this.#socketPath, key: this.#key() })
    await this.#peer.connect()
    this.#peer.on('message', ({ from, content }) => this.heard.push(`${from}: ${content}`))
  }

  async #up(): Promise<void> {
    const args = [daemonLauncher, 'up', '--project', 'play', '--json']
    const stdio = ['ignore', 'pipe', 'inherit'] as const
    this.#daemon = spawn(process.execPath, args, { cwd: this.root, env: this.#daemonEnv, stdio: [...stdio] })
    await once(this.#daemon.stdout as NodeJS.ReadableStream, 'data')
    this.#daemon.stdout?.resume()
  }

  /** The daemon is killed, and started again. */
  async restart(): Promise<void> {
    const ended = once(this.#daemon as ChildProcess, 'exit')
    this.#daemon?.kill('SIGKILL')
    await ended
    await this.#up()
  }

  #key(): string {
    const { workspaces } = JSON.parse(readFileSync(join(this.root, 'data/credentials.json'), 'utf8'))
    const all = Object.values(workspaces) as { name: string; key: string }[]
    return all.find(({ name }) => name === 'play')?.key ?? ''
  }

  /** Nothing of the owner's: `env -i`. */
  get env(): Record<string, string> {
    return {
      HOME: this.#home,
      LANG: 'C.UTF-8',
      PATH: process.env.PATH ?? '',
      NODE_EXTRA_CA_CERTS: '',
      RELAY_DATA_DIR: join(this.root, 'data'),
      RELAY_PROJECT: 'play',
      RELAY_PORT: '0',
    }
  }

  /** A tool of the lead's. */
  async tool(name: string, args: Record<string, unknown>): Promise<string> {
    const { content } = (await this.#lead.callTool({ name, arguments: args })) as { content: { text: string }[] }
    return content.map(({ text }) => text).join('\n')
  }

  async leadHears(): Promise<string[]> {
    const text = await this.tool('relay_inbox', {})
    if (!text.startsWith('No messages')) this.heard.push(...text.split('\n\n---\n\n'))
    return this.heard
  }

  async send(to: string, body: string): Promise<string> {
    return (await this.#peer.send(to, body)).id
  }

  async receipt(id: string): Promise<OutputOf<'message.receipts'>['receipts'][number] | undefined> {
    return (await this.#peer.call('message.receipts', { message: id })).receipts[0]
  }

  async worker(name: string) {
    const { workers } = await this.#peer.call('worker.list', { all: true })
    return workers.find((worker) => worker.name === name)
  }

  /** A worker of the peer's. */
  async hire(input: InputOf<'worker.spawn'>): Promise<void> {
    await this.#peer.call('worker.spawn', { cwd: this.work, ...input })
  }

  /** Interrupts a worker's turn. Answers the note: set where the turn goes on. */
  async interrupt(name: string): Promise<string | undefined> {
    return (await this.#peer.call('worker.interrupt', { name })).note
  }

  async openApprovals(): Promise<number> {
    return (await this.#peer.call('approval.list', {})).approvals.length
  }

  /** Lets a worker that has ended go on with its conversation. */
  async goOn(name: string): Promise<void> {
    await this.#peer.call('worker.retry', { name, continue: true })
  }

  /** What agents were told after their memory was cut. */
  async briefs(): Promise<{ agent: string; after: string; text: string }[]> {
    const { events } = await this.#peer.call('event.list', { types: ['agent.briefed'] })
    return events.map(({ fact }) => fact as never)
  }

  /** As a person types it into the worker's terminal. */
  async types(name: string, data: string): Promise<void> {
    await this.#peer.call('worker.type', { name, data })
  }

  /** What the model was asked last, for a failure that has to tell why. */
  story(): string {
    const lines = this.asked.map(({ path, heard, said, isCut }) => {
      const what = isCut ? 'cut' : `${heard?.tools.length} tools, ${JSON.stringify(heard?.text.slice(-200))}`
      return `${path.slice(-20)} ${what} -> ${said?.tool?.name ?? said?.text?.slice(0, 40)}`
    })
    return [...lines, ...this.heard].join('\n')
  }

  /** Everything on this machine that was started in this home, by its command line; the daemon and the lead's pipe are not meant. */
  processes(): { pid: number; line: string }[] {
    const isOwn = /agent-relay\.mjs|daemon-run/
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .flatMap((pid) => {
        try {
          const environ = readFileSync(`/proc/${pid}/environ`, 'utf8')
          if (!environ.includes(`HOME=${this.#home}`) || !environ.includes('RELAY_WORKER=')) return []
          const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
          return isOwn.test(line) ? [] : [{ pid: Number(pid), line }]
        } catch {
          return []
        }
      })
  }

  async close(): Promise<void> {
    await this.#lead.close()
    await this.#peer?.disconnect()
    const daemon = this.#daemon
    if (daemon && daemon.exitCode === null) {
      const ended = once(daemon, 'exit')
      daemon.kill('SIGTERM')
      await ended
    }
    this.#model?.close()
    rmSync(this.root, { recursive: true, force: true })
  }
}
