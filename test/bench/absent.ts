// The cost without a daemon: a hook of a CLI, the completion of a shell, a call of a program; the demo, which needs none; and
// `npm start` in a built checkout, until a first message is answered.

import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { refreshLauncher } from '@agent-relay/mcp/launcher'
import { RelayClient } from '@agent-relay/sdk'
import { isSocketAlive, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { bareEnv, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { startRelay } from './relay.ts'
import { against, type Measure } from './table.ts'

const launcher = join(
  dirname(createRequire(import.meta.url).resolve('agent-relay/package.json')),
  'bin/agent-relay.cjs',
)
const awayMs = 200
const checkout = fileURLToPath(new URL('../../..', import.meta.url))
const lookMs = 20

export async function measureAbsent(rounds: number): Promise<Measure[]> {
  const dataDir = temporaryFolder()
  const env = bareEnv({ HOME: dataDir, RELAY_DATA_DIR: dataDir, NODE_EXTRA_CA_CERTS: '' })
  const hook = refreshLauncher({ RELAY_DATA_DIR: dataDir })
  const own = (...args: string[]) => [process.execPath, launcher, ...args]
  const p50 = async (command: string[], its = env, input = '', times = rounds) =>
    median(await inTurn(times, () => runMs(command, its, input)))
  const [shell, node] = [await p50(['sh', '-c', ':']), await p50([process.execPath, '-e', '0'])]
  const row = (measure: string, value: number, floor: number, max: number) =>
    against(measure, { value, floor, unit: 'ms', max })
  return [
    row('hook of a CLI, no daemon', await p50([hook, 'hook', 'Stop', '--cli', 'claude'], env, '{}\n'), shell, 10),
    row('completion of a name, no daemon', await p50(own('agent-names')), await p50(own('--version')), 3),
    row('demo, without a daemon', await p50(own('demo'), env, '', 3), node, 250),
    row('npm start to the first answered message', median(await inTurn(3, firstAnswerMs)), node, 100),
    await measureAway(),
  ]
}

/** A program whose relay is gone for longer than its calls wait: the next ones fail at once. The floor is a call that is answered. */
async function measureAway(): Promise<Measure> {
  const relay = await startRelay()
  const { socketPath } = relay
  const client = new RelayClient({ agentName: 'away', socketPath, autoConnect: false, limits: { callAwayMs: awayMs } })
  await client.connect()
  const call = async () => {
    const from = performance.now()
    await client.call('inbox.count', {}).catch(() => {})
    return performance.now() - from
  }
  const floor = median(await inTurn(100, call))
  await relay.stop()
  await call()
  const value = median(await inTurn(100, call))
  await client.disconnect()
  return against('a call that fails while the relay is gone', { value, floor, unit: 'ms', max: 3 })
}

/** A person starts it, an agent comes and answers the first message. Most of it is npm. */
async function firstAnswerMs(): Promise<number> {
  const dataDir = temporaryFolder()
  const env = bareEnv({ HOME: dataDir, RELAY_DATA_DIR: dataDir, RELAY_PROJECT: 'bench', RELAY_PORT: '0' })
  // What it says of the project must not be written over the checkout's own.
  const { scripts } = createRequire(import.meta.url)(join(checkout, 'package.json'))
  const start = scripts.start.replace('scripts/', join(checkout, 'scripts/'))
  writeFileSync(join(dataDir, 'package.json'), JSON.stringify({ scripts: { start } }))
  const from = performance.now()
  const child = spawn('npm', ['start', '--silent'], { env, cwd: dataDir, stdio: 'ignore', detached: true })
  try {
    const socketPath = socketPathOf(dataDir, 'bench')
    while (!(await isSocketAlive(socketPath))) await sleep(lookMs)
    const [agent, person] = ['Echo', 'Kim'].map((agentName) => new RelayClient({ agentName, socketPath }))
    agent?.on('message', ({ from, id }) => void agent.send(from, 'Here.', { replyTo: id }))
    for (const client of [agent, person]) await client?.connect()
    await person?.sendAndWait('Echo', 'Are you there?')
    const took = performance.now() - from
    for (const client of [agent, person]) await client?.disconnect()
    return took
  } finally {
    process.kill(-(child.pid as number), 'SIGTERM')
  }
}

async function inTurn(times: number, work: () => Promise<number>): Promise<number[]> {
  const took: number[] = []
  for (let i = 0; i < times; i++) took.push(await work())
  return took
}

function runMs([program = '', ...args]: string[], env: NodeJS.ProcessEnv, input: string): Promise<number> {
  const from = performance.now()
  const child: ChildProcess = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'ignore'] })
  child.stdin?.on('error', () => {}).end(input)
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', () => resolve(performance.now() - from)),
  )
}
