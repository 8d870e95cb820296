// Workers whose programs ignore signals, fork and leave their session. No process of theirs survives a release, and no other process is touched.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { carrying, WorkerWorld } from '../../../packages/relay/tests/supervisor/worker-world.ts'
import { isAlive } from '../../is-alive.ts'
import { until } from '../../until.ts'

const stubborn = fileURLToPath(new URL('../../agents/stubborn.mjs', import.meta.url))
/** So many are released at once: each is given four seconds to leave by itself. */
const atOnce = 10

export interface ReleaseFigures {
  released: number
  processes: number
  faults: string[]
  ms: number
}

export async function releaseStubborn(count: number): Promise<ReleaseFigures> {
  const world = await WorkerWorld.start()
  const from = performance.now()
  const bystanders = [bystander({}), bystander({ RELAY_WORKER: 'wk_another' }), bystander({ NOT_RELAY_WORKER: 'wk_' })]
  const faults: string[] = []
  let processes = 0
  try {
    for (let done = 0; done < count; done += atOnce) {
      const names = Array.from({ length: Math.min(atOnce, count - done) }, (_, i) => `S${done + i}`)
      for (const found of await Promise.all(names.map((name) => releaseOne(world, name)))) {
        processes += found.pids.length
        faults.push(...found.faults)
      }
    }
    for (const each of bystanders)
      if (each.exitCode !== null || each.signalCode !== null) faults.push(`a bystander was ended: ${each.spawnargs}`)
    return { released: count, processes, faults, ms: Math.round(performance.now() - from) }
  } finally {
    for (const each of bystanders) each.kill('SIGKILL')
    await world.stop()
  }
}

async function releaseOne(world: WorkerWorld, name: string): Promise<{ pids: number[]; faults: string[] }> {
  const log = join(world.root, `${name}.pids`)
  const pidsOf = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [])
  const command = [process.execPath, stubborn, log]
  const { worker } = await world.lead.call('worker.spawn', { name, cli: 'plain', command, cwd: world.root })
  await until(() => pidsOf().length === 3)
  const { worker: released } = await world.lead.call('worker.release', { name })
  const pids = pidsOf()
  const left = [...pids.filter(isAlive).map((pid) => `pid ${pid} of ${name} lives`), ...carrying(worker.id).map(String)]
  return { pids, faults: released.status === 'exited' ? left : [...left, `${name} is ${released.status}`] }
}

function bystander(env: Record<string, string>): ChildProcess {
  return spawn('sleep', ['600'], { env: { PATH: process.env.PATH, ...env }, stdio: 'ignore' })
}
