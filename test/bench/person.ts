// The daemon as a person runs it, against the bare daemon: `up` in a terminal, the daemon in the background with its port, with the page open, with
// a `tail` in a terminal. All of them take turns in one run, so that a noisy neighbour disturbs all alike.

import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { openPty } from 'agent-relay/dist/supervisor/pty.js'
import { bareEnv, Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { startRelay } from './relay.ts'
import type { LoadAnswer } from './roles/load.ts'
import { ms, type Rounds } from './sends.ts'
import type { Measure } from './table.ts'

const project = 'bench'
const bodyBytes = 1024
const inFlightMany = 64
const ratioMin = 0.9
const restMs = 1_000
const launcher = join(
  dirname(createRequire(import.meta.url).resolve('agent-relay/package.json')),
  'bin/agent-relay.cjs',
)

/** A daemon under load, with whatever a person has open beside it. */
interface House {
  what: string
  socketPath: string
  stop(): Promise<void>
}

export async function measurePerson({ rounds, ms: perPart }: Rounds): Promise<Measure[]> {
  const plain = await startRelay()
  const bare: House = { what: 'bare', socketPath: plain.socketPath, stop: () => plain.stop() }
  const houses = [bare, await up(), await background(), await withPage(), await withTail()]
  const load = new Child('load')
  for (const { socketPath } of houses) await register(socketPath, 'Bob')
  const send = (house: House, inFlight: number): Promise<LoadAnswer> =>
    load.ask({ path: house.socketPath, name: 'Alice', to: 'Bob', inFlight, ms: perPart, bodyBytes })
  const measured = houses.map((house) => ({ house, many: [] as LoadAnswer[], single: [] as LoadAnswer[] }))
  for (const house of houses) await send(house, inFlightMany)
  for (let i = 0; i < rounds; i++) {
    // In another order each time, with a rest: what a house still has to do after its load (an index, a page that catches up) is its own.
    const inTurn = [...measured.slice(i % measured.length), ...measured.slice(0, i % measured.length)]
    for (const { house, many } of inTurn) {
      many.push(await send(house, inFlightMany))
      await sleep(restMs)
    }
    for (const { house, single } of inTurn) single.push(await send(house, 1))
  }
  const lagMs = await plain.lagMs()
  await Promise.all([load.stop(), ...houses.map((house) => house.stop())])
  const [floor, ...others] = measured as [Measured, ...Measured[]]
  return others.flatMap((each) => [throughput(each, floor, lagMs), patience(each, floor, lagMs)])
}

interface Measured {
  house: House
  many: LoadAnswer[]
  single: LoadAnswer[]
}

function throughput({ house, many }: Measured, floor: Measured, lagMs: number): Measure {
  const ratio = median(many.map(({ perSecond }, i) => perSecond / (floor.many[i] as LoadAnswer).perSecond))
  return {
    measure: `${house.what}: sends, 64 in flight`,
    value: `${Math.round(median(many.map(({ perSecond }) => perSecond)))}/s`,
    floor: `${Math.round(median(floor.many.map(({ perSecond }) => perSecond)))}/s`,
    ratio,
    limit: `>= ${ratioMin.toFixed(2)}`,
    isMet: ratio >= ratioMin,
    lagMs,
  }
}

function patience({ house, single }: Measured, floor: Measured, lagMs: number): Measure {
  const ratio = median(single.map(({ p50Ms }, i) => p50Ms / (floor.single[i] as LoadAnswer).p50Ms))
  return {
    measure: `${house.what}: one send, p50`,
    value: ms(median(single.map(({ p50Ms }) => p50Ms))),
    floor: ms(median(floor.single.map(({ p50Ms }) => p50Ms))),
    ratio,
    limit: `<= ${(1 / ratioMin).toFixed(2)}`,
    isMet: ratio <= 1 / ratioMin,
    lagMs,
  }
}

/** As `npm start` runs it, in a terminal that is read. */
async function up(): Promise<House> {
  const dataDir = temporaryFolder()
  const terminal = await inTerminal(dataDir, ['up', '--port', '0'], /ready\./)
  return { what: '`up`', socketPath: socketPathOf(dataDir, project), stop: terminal.stop }
}

async function background(what = '`daemon start`'): Promise<House & { dataDir: string; url: string }> {
  const dataDir = temporaryFolder()
  const child = spawn(process.execPath, [launcher, 'daemon', 'run', '--port', '0'], {
    env: envOf(dataDir),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  killAtExit(child)
  await says(child, / runs, pid /)
  const control = await socketConnector(controlSocketPath(dataDir))({})
  await control.call('workspace.open', { workspace: project }, 'c_open')
  const { http } = await control.call('daemon.status', {}, 'c_status')
  await control.close()
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
  return { what, dataDir, url: http?.url as string, socketPath: socketPathOf(dataDir, project), stop }
}

/** A program that says over `/ws` what the page says: the cost of a page to the daemon, without a browser's own. */
async function withPage(): Promise<House> {
  const house = await background('with the page open')
  const page = new Child('page')
  await page.ask({ url: house.url, dataDir: house.dataDir, project })
  return { ...house, stop: () => Promise.all([page.stop(), house.stop()]).then(() => {}) }
}

async function withTail(): Promise<House> {
  const house = await background('with a `tail`')
  const tail = await inTerminal(house.dataDir, ['tail'], /Following/)
  return { ...house, stop: () => Promise.all([tail.stop(), house.stop()]).then(() => {}) }
}

async function inTerminal(dataDir: string, args: string[], ready: RegExp): Promise<{ stop(): Promise<void> }> {
  const env = { ...envOf(dataDir), TERM: 'xterm-256color' } as Record<string, string>
  const pty = await openPty({
    ...{ file: process.execPath, args: [launcher, ...args], cwd: dataDir, env, cols: 120, rows: 40 },
  })
  const exited = new Promise<void>((resolve) => pty.onExit(() => resolve()))
  await new Promise<void>((resolve, reject) => {
    let shown = ''
    pty.onExit(() => reject(new Error(`${args[0]} ended: ${shown}`)))
    pty.onData((data) => {
      if (shown.length < 10_000) shown += Buffer.from(data).toString()
      if (ready.test(shown)) resolve()
    })
  })
  return {
    async stop() {
      process.kill(pty.pid, 'SIGTERM')
      await exited
    },
  }
}

async function register(socketPath: string, name: string): Promise<void> {
  await (await socketConnector(socketPath)({ name })).close()
}

function envOf(dataDir: string): NodeJS.ProcessEnv {
  return bareEnv({ RELAY_DATA_DIR: dataDir, HOME: dataDir, RELAY_PROJECT: project })
}

function killAtExit(child: ChildProcess): void {
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
}

function says(child: ChildProcess, pattern: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    child.once('exit', () => reject(new Error(`the daemon did not start: ${log}`)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (pattern.test(log)) resolve()
    })
  })
}
