// A real daemon whose workers are scripted agents in real terminals, and a lead over the SDK who hires them. No tests.

import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { until } from '../../../../test/until.ts'
import { daemonStanding } from '../../src/broker/sessions/standing.ts'
import { Daemon, type DaemonOptions } from '../../src/daemon/daemon.ts'
import { acpHarness } from '../../src/supervisor/harness/acp.ts'
import type { Harness } from '../../src/supervisor/harness/harness.ts'
import { plainHarness } from '../../src/supervisor/harness/plain.ts'

export const scriptedAgent = fileURLToPath(new URL('../../../../test/agents/scripted-agent.mjs', import.meta.url))

export const acpAgent = fileURLToPath(new URL('../../../../test/agents/scripted-acp-agent.mjs', import.meta.url))

/** A CLI of its own: MCP by a file, its state in the title. */
export const scripted: Harness = {
  ...plainHarness,
  name: 'scripted',
  hasMcp: true,
  bringsOwnMcp: (args) => args.includes('--mcp-config'),
  toolPrefix: 'mcp__agent-relay__',
  interruptKeys: ['\x1b'],
  readScreenSign({ title }) {
    const state = /^scripted: (\w+)/.exec(title)?.[1]
    return state === 'dialog' ? 'blocked' : state === 'busy' || state === 'idle' ? state : undefined
  },
  launch({ directory, server, args, isInjected }) {
    if (!isInjected) return { args: [...args], env: {} }
    const path = join(directory, 'mcp.json')
    const env = { NODE_EXTRA_CA_CERTS: '' }
    const text = JSON.stringify({ mcpServers: { 'agent-relay': { ...server, env } } })
    return { args: [...args, '--mcp-config', path], env: {}, files: [{ path, text }] }
  },
}

/** A CLI that speaks ACP, or says so, and has a terminal. */
export const both: Harness = {
  ...scripted,
  name: 'both',
  program: process.execPath,
  launch(context) {
    const launch = scripted.launch(context)
    return { ...launch, args: [scriptedAgent, ...launch.args] }
  },
  acp: { mcp: 'stdio', isOwnTool: () => false, launch: ({ args }) => ({ args: [acpAgent, ...args], env: {} }) },
}

export interface Logged {
  at: number
  event: string
  text: string
  [more: string]: unknown
}

export class WorkerWorld {
  readonly root: string
  readonly daemon: Daemon
  readonly lead: RelayClient
  readonly troubles: Error[]
  /** Of the workspace. */
  readonly key?: string
  readonly #clients: RelayClient[] = []

  private constructor(root: string, daemon: Daemon, lead: RelayClient, troubles: Error[]) {
    this.root = root
    this.daemon = daemon
    this.lead = lead
    this.troubles = troubles
  }

  static async start(options: Partial<DaemonOptions> = {}): Promise<WorkerWorld> {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-workers-')))
    const dataDir = join(root, 'data')
    const troubles: Error[] = []
    const { NODE_OPTIONS: _, ...env } = process.env
    const daemon = (await Daemon.start({
      dataDir,
      credentialsPath: join(dataDir, 'credentials.json'),
      isMemory: true,
      harnesses: [scripted, plainHarness, acpHarness],
      env,
      onTrouble: (error) => void troubles.push(error),
      onStop: () => {},
      ...options,
    })) as Daemon
    const { key } = await daemon.open('home')
    const lead = new RelayClient({ agentName: 'Lead', socketPath: socketPathOf(dataDir, 'home'), autoConnect: false })
    await lead.connect()
    return Object.assign(new WorkerWorld(root, daemon, lead, troubles), { key })
  }

  /** As a person at its terminal: no agent types into a dialog. */
  async types(name: string, data: string): Promise<void> {
    const { workspace } = await this.daemon.open('home')
    workspace.workers.terminalOf(name)?.type(data)
  }

  /** As a person on the page: the first thing that it asks. */
  async answers(name: string, choice: string): Promise<void> {
    const { workspace } = await this.daemon.open('home')
    const [asked] = workspace.store.view.approvals.of(name)
    if (!asked) throw new Error(`${name} asks for nothing`)
    const { id, digest } = asked
    const input = { id, choice, digest, surface: 'page' as const, standing: daemonStanding }
    const reply = await workspace.engine.submit({ rule: 'approval.answer', input, by: 'kim', cause: randomUUID() })
    if ('refusal' in reply) throw new Error(reply.refusal.code)
  }

  get dataDir(): string {
    return join(this.root, 'data')
  }

  get socketPath(): string {
    return socketPathOf(this.dataDir, 'home')
  }

  async client(name: string, key?: string): Promise<RelayClient> {
    const client = new RelayClient({ agentName: name, socketPath: this.socketPath, key, autoConnect: false })
    this.#clients.push(client)
    await client.connect()
    return client
  }

  logPath(name: string): string {
    return join(this.root, `${name}.log`)
  }

  /** Hires a scripted agent, and waits until it is ready. */
  async hire(name: string, more: { task?: string; args?: string[]; cli?: string } = {}): Promise<void> {
    const { task, args = [], cli = 'scripted' } = more
    await this.spawn(name, { cli, task, args })
    await until(() => this.isReady(name))
  }

  spawn(name: string, { cli = 'scripted', task, args = [] }: { cli?: string; task?: string; args?: string[] }) {
    const command = [process.execPath, scriptedAgent, '--log', this.logPath(name), ...args]
    return this.lead.call('worker.spawn', { name, cli, command, task, cwd: this.root })
  }

  async isReady(name: string): Promise<boolean> {
    return ['ready', 'busy', 'idle'].includes(await this.status(name))
  }

  async status(name: string): Promise<string> {
    const { workers } = await this.lead.call('worker.list', { all: true })
    return workers.find((worker) => worker.name === name)?.status ?? 'unknown'
  }

  log(name: string): Logged[] {
    if (!existsSync(this.logPath(name))) return []
    // The last line may be half written.
    const lines = readFileSync(this.logPath(name), 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  }

  submitted(name: string): string[] {
    return this.log(name)
      .filter(({ event }) => event.startsWith('submitted'))
      .map(({ text }) => text)
  }

  /** What the daemon told the lead of a worker. */
  async told(name: string): Promise<string[]> {
    return (await this.#notices()).filter((body) => body.includes(`"${name}"`))
  }

  /** What it told of a run and of the worker that carries it out, head lines alone. */
  async toldOfRun({ id, agent }: { id: string; agent: string }): Promise<string[]> {
    const about = (await this.#notices()).filter((body) => body.includes(id) || body.includes(agent))
    return about.map((body) => body.split('\n')[0] as string)
  }

  async #notices(): Promise<string[]> {
    const { messages } = await this.lead.call('inbox.peek', { from: 'agent-relay', unreadOnly: false, limit: 500 })
    return messages.map(({ body }) => body)
  }

  async stop(): Promise<void> {
    for (const client of [...this.#clients, this.lead]) await client.disconnect().catch(() => {})
    await this.daemon.stop()
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** Processes of this machine that carry a marker, read by our own hand. */
export function carrying(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(marker)
      } catch {
        return false
      }
    })
    .map(Number)
}
