// A CLI that a person started by hand: in a terminal, in a private home, with our server in its settings by `mcp install --yes` alone. A scripted
// model, a daemon, and a peer that sends. No tests.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { RelayClient } from '@agent-relay/sdk'
import type { Agent } from '@agent-relay/sdk/protocol'
import { expect } from 'vitest'
import { ProgramOutput } from '../../packages/relay/src/supervisor/output.ts'
import { openPty } from '../../packages/relay/src/supervisor/pty.ts'
import { installNode } from '../../scripts/install-node.mjs'
import { until } from '../until.ts'
import type { Cli } from './clis.ts'
import { type Asked, startFakeModel } from './fake-model.mjs'
import { daemonLauncher } from './world.ts'

const size = { cols: 120, rows: 40 }
/** Between a text and its Enter: some CLIs take both at once for a paste. */
const enterMs = 300

export const median = (times: number[]) => [...times].sort((a, b) => a - b)[times.length >> 1] as number

export interface Cost {
  ms: number
  cpuMs: number
}

export class OwnWorld {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'own-')))
  readonly home = join(this.root, 'home')
  readonly work = join(this.root, 'work')
  readonly env: Record<string, string>
  readonly asked: (Asked & { at: number })[] = []
  readonly peer: RelayClient
  readonly #model: Awaited<ReturnType<typeof startFakeModel>>
  readonly #cli: Cli
  readonly #folder: string

  private constructor(cli: Cli, folder: string, model: Awaited<ReturnType<typeof startFakeModel>>) {
    this.#cli = cli
    this.#folder = folder
    this.#model = model
    for (const path of [this.home, this.work]) mkdirSync(path)
    execFileSync('git', ['init', '-q'], { cwd: this.work })
    this.env = {
      HOME: this.home,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      PATH: [...ownNode(cli), folder, dirname(process.execPath), '/usr/local/bin', '/usr/bin', '/bin'].join(':'),
      RELAY_DATA_DIR: join(this.root, 'data'),
      RELAY_PROJECT: 'play',
      RELAY_PORT: '0',
      ...cli.prepare({ home: this.home, work: this.work, modelUrl: model.url }),
    }
    const socketPath = join(this.root, 'data/projects/play/daemon.sock')
    this.peer = new RelayClient({ agentName: 'Peer', socketPath, autoConnect: false })
  }

  static async start(cli: Cli, folder: string): Promise<OwnWorld> {
    const world = await OwnWorld.withoutUs(cli, folder)
    world.install()
    await world.peer.connect()
    return world
  }

  /** The CLI as it is before anybody has heard of us. */
  static async withoutUs(cli: Cli, folder: string): Promise<OwnWorld> {
    const asked: OwnWorld['asked'] = []
    const model = await startFakeModel((each) => asked.push({ ...each, at: performance.now() }))
    const world = new OwnWorld(cli, folder, model)
    return Object.assign(world, { asked })
  }

  install(...flags: string[]): void {
    this.relay('daemon', 'start', '--project', 'play')
    this.relay('mcp', 'install', '--yes', ...flags)
  }

  /** A command of ours, as a person types it; not where the CLI works, since the daemon leaves a note there. */
  relay(...args: string[]): string {
    return String(
      execFileSync(process.execPath, [daemonLauncher, ...args], { env: this.env, cwd: this.root, stdio: 'pipe' }),
    )
  }

  /**
   * A run of the CLI that ends by itself: how long it took, and how much of the processor, with everything that it has started and ended. The
   * model lives in this process, so it must not be blocked meanwhile.
   */
  async run(...args: string[]): Promise<Cost> {
    const from = performance.now()
    const program = [join(this.#folder, this.#cli.name), ...args]
    const script = '"$@" > /dev/null 2>&1; code=$?; times; exit $code'
    const child = spawn('bash', ['-c', script, 'bash', ...program], {
      ...{ env: this.env, cwd: this.work },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    expect(code, `the exit code of ${program.join(' ')}`).toBe(0)
    const used = said.trim().split('\n').at(-1) ?? ''
    const cpuMs = [...used.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
      (sum, [, m, s]) => sum + 60_000 * Number(m) + 1_000 * Number(s),
      0,
    )
    return { ms: performance.now() - from, cpuMs }
  }

  /**
   * Runs that end by themselves, with these files of the home as they are now and as they are given here: in turn, so that the machine's load is
   * the same for both. Answers their medians, to be printed.
   */
  async compare(others: Record<string, string | undefined>, ...args: string[]): Promise<string> {
    const after = this.contents(Object.keys(others))
    const [withUs, without]: [Cost[], Cost[]] = [[], []]
    await this.run(...args)
    for (let i = 0; i < 9; i++) {
      withUs.push(await this.run(...args))
      this.#put(others)
      without.push(await this.run(...args))
      this.#put(after)
    }
    const middle = (costs: Cost[], key: keyof Cost) => median(costs.map((cost) => cost[key]))
    const told = (costs: Cost[]) =>
      `${Math.round(middle(costs, 'ms'))} ms (of the processor ${Math.round(middle(costs, 'cpuMs'))} ms)`
    return `${told(withUs)} with us, ${told(without)} without`
  }

  /** By their paths in the home. */
  contents(paths: string[]): Record<string, string | undefined> {
    const at = (path: string) => join(this.home, path)
    return Object.fromEntries(
      paths.map((path) => [path, existsSync(at(path)) ? readFileSync(at(path), 'utf8') : undefined]),
    )
  }

  #put(contents: Record<string, string | undefined>): void {
    for (const [path, text] of Object.entries(contents))
      if (text === undefined) rmSync(join(this.home, path), { force: true })
      else writeFileSync(join(this.home, path), text)
  }

  open(...args: string[]) {
    return this.openAs(this.#cli.name, ...args)
  }

  /** Another program of the folder. */
  async openAs(name: string, ...args: string[]) {
    const file = join(this.#folder, name)
    const terminal = await openPty({ file, args, cwd: this.work, env: this.env, ...size })
    const output = new ProgramOutput(size, (data) => terminal.answer(data))
    terminal.onData((data) => output.push(data))
    const screen = async () => (await output.lines()).join('\n')
    const type = (data: string) => terminal.write(data)
    return {
      screen,
      type,
      shows: (sign: RegExp) => until(async () => sign.test(await screen())),
      enter: async (text: string) => {
        const before = await screen()
        await type(text)
        // Counted from when it has taken the text: on a busy machine that may be later than the time between them.
        await until(async () => (await screen()) !== before)
        await sleep(enterMs)
        await type('\r')
      },
    }
  }

  /** The daemon is killed, and started again. */
  async restart(): Promise<void> {
    const { pid } = JSON.parse(this.relay('daemon', 'status', '--json'))
    process.kill(pid, 'SIGKILL')
    await until(() => !existsSync(`/proc/${pid}`))
    this.relay('daemon', 'start', '--project', 'play')
  }

  async reached(agent: string): Promise<string | undefined> {
    return (await this.agent(agent))?.reached
  }

  async agent(named: string): Promise<Agent | undefined> {
    return (await this.peer.call('agent.list', {})).agents.find(({ name }) => name === named)
  }

  async route(message: string): Promise<string | undefined> {
    return (await this.peer.call('message.receipts', { message })).receipts[0]?.route
  }

  /** The first request of the conversation itself, and not of a side question, in which the model saw this text. */
  seen(text: string): (Asked & { at: number }) | undefined {
    return this.asked.find(({ heard }) => (heard?.tools.length ?? 0) > 0 && heard?.text.includes(text))
  }

  /** Milliseconds from the send to the model's request. */
  async sendAndSee(to: string, body: string): Promise<{ id: string; ms: number }> {
    const sentAt = performance.now()
    const { id } = await this.peer.send(to, body)
    await until(() => this.seen(body) !== undefined)
    return { id, ms: (this.seen(body)?.at ?? 0) - sentAt }
  }

  /** 200 messages to an agent, while a person at its terminal makes it busy at random. Answers their ids. */
  async sendWhileBusy(to: string, terminal: { enter(text: string): Promise<void> }): Promise<string[]> {
    const random = seeded(7)
    const ids: string[] = []
    let isOver = false
    const person = (async () => {
      while (!isOver) {
        await sleep(500 + 2_500 * random())
        await terminal.enter(random() < 0.5 ? 'slow 1' : 'say something')
      }
    })()
    for (let i = 0; i < 200; i++) {
      ids.push((await this.peer.send(to, `message ${i}`)).id)
      await sleep(150 * random() * random())
    }
    isOver = true
    await person
    return ids
  }

  async close(): Promise<void> {
    await this.peer.disconnect()
    this.relay('daemon', 'stop')
    await this.endAll()
    this.#model.close()
    rmSync(this.root, { recursive: true, force: true })
  }

  /** The CLI, and what it leaves running in the background: everything with this home. */
  async endAll(): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const pid of this.#processes())
        try {
          process.kill(pid, signal)
        } catch {}
      await sleep(300)
    }
  }

  #processes(): number[] {
    const isOurs = (pid: string) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${this.home}\0`)
      } catch {
        return false
      }
    }
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry) && isOurs(entry))
      .map(Number)
  }
}

/** Where the CLI needs a newer Node than ours. */
function ownNode({ nodeMajor }: Cli): string[] {
  return nodeMajor === undefined ? [] : [installNode(nodeMajor)]
}

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
