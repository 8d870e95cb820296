// A daemon that is killed while workers run: the next one ends their remaining processes, starts none again, and tells every parent.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectClient } from '@agent-relay/prove/harness/clients'
import { inTrial } from '@agent-relay/prove/harness/processes'
import { installedRelay } from '../../../packages/relay/src/cli/own-relay.ts'
import { isAlive } from '../../is-alive.ts'
import { until } from '../../until.ts'

const stubborn = fileURLToPath(new URL('../../agents/stubborn.mjs', import.meta.url))

export interface OrphanFigures {
  /** Of the killed daemon's workers, just before the next one starts. */
  orphans: number
  left: number[]
  statuses: string[]
  told: Record<string, string[]>
}

export function killWithWorkers(parents: string[], each: number): Promise<OrphanFigures> {
  return inTrial({ relay: installedRelay }, async (scene) => {
    const first = await scene.startDaemon()
    const log = join(scene.dataDir, 'pids')
    const pids = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n').map(Number) : [])
    scene.onDispose(() => pids().filter(isAlive).forEach(kill))
    const enter = (name: string) => connectClient(scene, name)
    const clients = await Promise.all(parents.map(enter))
    for (const [i, client] of clients.entries())
      for (let n = 0; n < each; n++) {
        const command = [process.execPath, stubborn, log]
        await client.call('worker.spawn', { name: `${parents[i]}-${n}`, cli: 'plain', command, cwd: '/' })
      }
    await until(() => pids().length === parents.length * each * 3)
    for (const client of clients) void client.disconnect()
    await first.end('SIGKILL')
    const orphans = pids().filter(isAlive).length
    await scene.startDaemon()
    const left = pids().filter(isAlive)
    const told: Record<string, string[]> = {}
    const statuses: string[] = []
    for (const parent of parents) {
      const client = await enter(parent)
      const { messages } = await client.call('inbox.peek', { from: 'agent-relay', unreadOnly: false, limit: 500 })
      told[parent] = messages.map(({ body }) => body).filter((body) => body.includes('exited'))
      // A parent sees its own workers.
      statuses.push(...(await client.call('worker.list', { all: true })).workers.map(({ status }) => status))
      await client.disconnect()
    }
    return { orphans, left, statuses, told }
  })
}

function kill(pid: number): void {
  process.kill(pid, 'SIGKILL')
}
