// A home of Claude Code with stand-ins for its sessions, and a daemon that watches it. No tests.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Agent, Receipt } from '@agent-relay/sdk/protocol'
import { makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { until } from '../../../../test/until.ts'
import { Daemon } from '../../src/daemon/daemon.ts'

const program = fileURLToPath(new URL('stand-in.mjs', import.meta.url))
const launcher = fileURLToPath(new URL('../../bin/agent-relay.cjs', import.meta.url))
const ids = makeIds()

export interface Beginning {
  name?: string
  cwd?: string
  inbound?: 'accept' | 'hold' | 'refuse'
  /** Of its record. */
  fields?: Record<string, unknown>
  /** It reads its socket, and does nothing. */
  isDeaf?: boolean
  /** It was started so that nobody is asked about its steps. */
  isUnasked?: boolean
}

export class ClaudeWorld {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'claude-')))
  readonly home = join(this.root, '.claude')
  readonly socks = join(this.root, 'socks')
  readonly work = join(this.root, 'work')
  readonly dataDir = join(this.root, 'data')
  readonly troubles: Error[] = []
  daemon: Daemon | undefined
  readonly #sessions: StandIn[] = []

  constructor() {
    mkdirSync(this.work)
  }

  async start(): Promise<void> {
    this.daemon = await Daemon.start({
      ...{
        dataDir: this.dataDir,
        credentialsPath: join(this.dataDir, 'credentials.json'),
        initialWorkspaces: ['home'],
      },
      vendorHomes: { claude: this.home },
      onTrouble: (error) => this.troubles.push(error),
      onStop: () => {},
    })
  }

  async stop(): Promise<void> {
    await this.daemon?.stop()
    this.daemon = undefined
  }

  async begin(beginning: Beginning = {}): Promise<StandIn> {
    const { home, socks, work: cwd } = this
    const session = await StandIn.start({ home, socks, cwd, name: 'work-ab', ...beginning })
    this.#sessions.push(session)
    return session
  }

  /** A program that speaks as a session does, and stands in another home. */
  static stranger({ root, socks, work: cwd }: ClaudeWorld): Promise<StandIn> {
    return StandIn.start({ home: join(root, 'elsewhere'), socks, cwd, name: 'stranger' })
  }

  /** Somebody who is connected to the workspace. */
  async link(name: string, { workspace = 'home', host }: { workspace?: string; host?: number } = {}) {
    const socketPath = socketPathOf(this.dataDir, workspace)
    const link = await socketConnector(socketPath)({ name, host })
    return {
      close: () => link.close(),
      told: (to: string, body: string) => link.call('message.send', { to, body }, ids('c')),
      send: async (to: string, body: string) => (await link.call('message.send', { to, body }, ids('c'))).id,
      inbox: async () =>
        (await link.call('inbox.take', {}, ids('c'))).messages.map(({ from, body }) => `${from}: ${body}`),
      receipt: async (message: string): Promise<Receipt | undefined> =>
        (await link.call('message.receipts', { message }, ids('c'))).receipts[0],
      agents: async (): Promise<Agent[]> => (await link.call('agent.list', {}, ids('c'))).agents,
      agent: async (wanted: string): Promise<Agent | undefined> =>
        (await link.call('agent.list', { includeOffline: true }, ids('c'))).agents.find((each) => each.name === wanted),
    }
  }

  /** Everything below Claude's home with its contents: nobody but its sessions may change anything there. */
  files(): Record<string, string> {
    const all = readdirSync(this.home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
    return Object.fromEntries(all.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), 'utf8')]))
  }

  async close(): Promise<void> {
    await this.stop()
    for (const session of this.#sessions) session.kill()
    chmodSync(this.root, 0o700)
    rmSync(this.root, { recursive: true, force: true })
  }
}

export class StandIn {
  readonly pid: number
  /** What its model was given, in order. */
  readonly given: string[] = []
  readonly #child: ChildProcess
  #hasTools = false

  private constructor(child: ChildProcess) {
    this.#child = child
    this.pid = child.pid as number
    child.on('message', ({ body, tools }: { body?: string; tools?: boolean }) => {
      if (body !== undefined) this.given.push(body)
      this.#hasTools ||= tools === true
    })
  }

  static async start({ isUnasked, ...options }: Beginning & { home: string; socks: string }): Promise<StandIn> {
    const flags = isUnasked ? ['--dangerously-skip-permissions'] : []
    const child = fork(program, [JSON.stringify(options), ...flags], { stdio: 'inherit' })
    const session = new StandIn(child)
    await once(child, 'message')
    return session
  }

  does(status: 'idle' | 'busy' | 'waiting', waitingFor?: string): void {
    this.#tell('does', { status, waitingFor })
  }

  say(to: string, text: string): void {
    this.#tell('say', { to, text })
  }

  /** Its settings have our server, which belongs to this data directory. */
  startsOurServer(dataDir: string): void {
    const { PATH, HOME } = process.env
    this.#tell('mcp', {
      args: [launcher, 'mcp', 'serve'],
      env: { PATH, HOME, RELAY_DATA_DIR: dataDir, RELAY_PROJECT: 'home' },
    })
  }

  /** It has called one of them. */
  hasOurTools = () => until(() => this.#hasTools)
  clear = () => this.#tell('clear')
  rename = (to: string) => this.#tell('rename', { to })
  release = () => this.#tell('release')
  expire = () => this.#tell('expire')
  deny = () => this.#tell('deny')

  async leave(): Promise<void> {
    const gone = once(this.#child, 'exit')
    this.#tell('leave')
    await gone
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** In this order, each once, and nothing else. */
  hasBeen(...texts: string[]): boolean {
    return this.given.length === texts.length && texts.every((text, i) => this.given[i]?.includes(text))
  }

  #tell(command: string, input: object = {}): void {
    this.#child.send({ command, ...input })
  }
}
