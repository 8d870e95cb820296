// The stdio pipe: its start and weight against a bare Node script, the cost of a call through it, and the daemon's cost of many.

import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { launcherScript, refreshLauncher } from '@agent-relay/mcp/launcher'
import { residentMb } from '@agent-relay/prove/harness/processes'
import { RelayClient } from '@agent-relay/sdk'
import { bareEnv, Child, temporaryFolder } from './child.ts'
import { median, quantile } from './figures.ts'
import type { RelayAnswer } from './roles/relay.ts'
import type { Measure } from './table.ts'

type Row = Omit<Measure, 'lagMs'>

const limits = { start: 1.25, resident: 1.15, callMs: 0.6, daemonMb: 140 }
const manyPipes = 50
const manyCalls = 2_000

export async function measurePipe({ rounds, calls }: { rounds: number; calls: number }): Promise<Measure[]> {
  const daemon = new Child('relay')
  const { socketPath } = await daemon.ask<RelayAnswer>({ dataDir: temporaryFolder(), project: 'bench' })
  const env = bareEnv({ RELAY_SOCKET: socketPath, NODE_EXTRA_CA_CERTS: '' }) as Record<string, string>
  try {
    const measures = [
      ...(await measureStart(rounds, env)),
      await measureCalls(rounds, calls, env),
      await measureMany(daemon.pid, env),
    ]
    const asker = new RelayClient({ agentName: 'lag-meter', socketPath, autoConnect: false })
    await asker.connect()
    const { lagMs } = await asker.call('workspace.status', {})
    await asker.disconnect()
    return measures.map((measure) => ({ ...measure, lagMs: lagMs.p99 }))
  } finally {
    await daemon.stop()
  }
}

/** Spawn to the answer to tools/list, by the launcher as editors start it; the bare script gives the very same two answers by hand. */
async function measureStart(rounds: number, env: Record<string, string>): Promise<Row[]> {
  const launcher = [refreshLauncher({ RELAY_DATA_DIR: temporaryFolder() })]
  const sample = await start(launcher, env)
  const script = join(temporaryFolder(), 'bare.cjs')
  writeFileSync(script, bareScript(sample.answers))
  const pipes: Started[] = []
  const bares: Started[] = []
  for (let i = 0; i < rounds * 6; i++) {
    bares.push(await start([process.execPath, script], env))
    pipes.push(await start(launcher, env))
  }
  const row = (measure: string, of: (started: Started) => number, unit: string, limit: number): Row => {
    const [value, floor] = [median(pipes.map(of)), median(bares.map(of))]
    return {
      measure,
      value: `${value.toFixed(1)} ${unit}`,
      floor: `${floor.toFixed(1)} ${unit}`,
      ratio: value / floor,
      limit: `<= ${limit}`,
      isMet: value / floor <= limit,
    }
  }
  return [
    row('pipe, spawn to tools/list', ({ ms }) => ms, 'ms', limits.start),
    row('pipe, resident', ({ mb }) => mb, 'MB', limits.resident),
  ]
}

interface Started {
  ms: number
  mb: number
  answers: string[]
}

async function start(command: string[], env: Record<string, string>): Promise<Started> {
  const from = performance.now()
  const host = new Host(command, env)
  const answers = [await host.ask(0, 'initialize', introduction), '']
  host.write({ method: 'notifications/initialized' }, { id: 1, method: 'tools/list' })
  answers[1] = await host.answer()
  const ms = performance.now() - from
  const mb = residentMb(host.child.pid as number)
  await host.end()
  return { ms, mb, answers }
}

/** Reads lines and answers requests with what it is given: the least that a server on stdin and stdout can do. */
function bareScript(answers: string[]): string {
  return `const answers = ${JSON.stringify(answers)}
let text = ''
process.stdin.on('data', (chunk) => {
  text += chunk
  for (let end = text.indexOf('\\n'); end >= 0; end = text.indexOf('\\n')) {
    const { id } = JSON.parse(text.slice(0, end))
    text = text.slice(end + 1)
    if (id !== undefined) process.stdout.write(answers[id] + '\\n')
  }
})
`
}

/** The same call of the same client over the pipe and in memory, in turns. */
async function measureCalls(rounds: number, calls: number, env: Record<string, string>): Promise<Row> {
  const over = new Child('mcp')
  const within = new Child('mcp')
  await over.ask({ open: { launcher: launcherScript, env }, calls })
  await within.ask({ open: { dataDir: temporaryFolder() }, calls })
  const p50: { pipe: number[]; memory: number[] } = { pipe: [], memory: [] }
  for (let i = 0; i < rounds; i++) {
    p50.pipe.push(quantile(await over.ask<number[]>({ calls }), 0.5))
    p50.memory.push(quantile(await within.ask<number[]>({ calls }), 0.5))
  }
  await over.stop()
  await within.stop()
  const [pipe, memory] = [median(p50.pipe), median(p50.memory)]
  return {
    measure: 'call through the pipe, p50',
    value: `${pipe.toFixed(2)} ms`,
    floor: `${memory.toFixed(2)} ms`,
    limit: `+ ${limits.callMs} ms`,
    isMet: pipe - memory <= limits.callMs,
    note: `${(pipe - memory).toFixed(2)} ms over the same call on a pair in memory`,
  }
}

async function measureMany(daemonPid: number, env: Record<string, string>): Promise<Row> {
  const before = residentMb(daemonPid)
  const hosts = Array.from({ length: manyPipes }, () => new Host([process.execPath, launcherScript], env))
  await Promise.all(hosts.map((host) => host.ask(0, 'initialize', introduction)))
  for (const host of hosts) host.write({ method: 'notifications/initialized' })
  for (let id = 1; id <= manyCalls / manyPipes; id++)
    await Promise.all(hosts.map((host) => host.ask(id, 'tools/call', { name: 'relay_status', arguments: {} })))
  const mb = residentMb(daemonPid)
  await Promise.all(hosts.map((host) => host.end()))
  return {
    measure: `daemon with ${manyPipes} pipes, after ${manyCalls} calls`,
    value: `${mb.toFixed(0)} MB`,
    floor: `${before.toFixed(0)} MB before`,
    limit: `<= ${limits.daemonMb} MB`,
    isMet: mb <= limits.daemonMb,
  }
}

const introduction = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
const hosts = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of hosts) child.kill('SIGKILL')
})

/** The other end of stdin and stdout, by hand: one question at a time. */
class Host {
  readonly child: ChildProcess
  readonly #ended: Promise<unknown>
  #text = ''
  #resolve: ((line: string) => void) | undefined

  constructor([program = '', ...args]: string[], env: Record<string, string>) {
    this.child = spawn(program, [...args, 'serve'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    hosts.add(this.child)
    this.#ended = new Promise((resolve) => this.child.once('exit', resolve)).then(() => hosts.delete(this.child))
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text
      this.#look()
    })
  }

  ask(id: number, method: string, params: object): Promise<string> {
    this.write({ id, method, params })
    return this.answer()
  }

  write(...messages: object[]): void {
    const lines = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    this.child.stdin?.write(lines.join(''))
  }

  answer(): Promise<string> {
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#look()
    })
  }

  async end(): Promise<void> {
    this.child.stdin?.end()
    await this.#ended
  }

  #look(): void {
    const end = this.#text.indexOf('\n')
    if (end < 0 || !this.#resolve) return
    const line = this.#text.slice(0, end)
    this.#text = this.#text.slice(end + 1)
    const resolve = this.#resolve
    this.#resolve = undefined
    resolve(line)
  }
}
