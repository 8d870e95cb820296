// What a daemon weighs that nobody talks to yet: started as the command line starts it, one workspace open, its HTTP port listening.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { bareEnv, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import type { Measure } from './table.ts'

const limitMb = 80
const restMs = 3_000

export async function measureIdle(rounds: number): Promise<Measure[]> {
  const weighed: { mb: number; lagMs: number }[] = []
  for (let i = 0; i < rounds; i++) weighed.push(await weigh())
  const mb = median(weighed.map((each) => each.mb))
  return [
    {
      measure: 'idle daemon, resident',
      value: `${mb.toFixed(1)} MB`,
      limit: `<= ${limitMb} MB`,
      isMet: mb <= limitMb,
      lagMs: median(weighed.map((each) => each.lagMs)),
      note: 'before the first MCP or HTTP session',
    },
  ]
}

async function weigh(): Promise<{ mb: number; lagMs: number }> {
  const folder = temporaryFolder()
  const bin = join(dirname(createRequire(import.meta.url).resolve('agent-relay/package.json')), 'bin/agent-relay.cjs')
  const env = bareEnv({ RELAY_DATA_DIR: folder })
  const child = spawn(process.execPath, [bin, 'daemon', 'run', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  try {
    await new Promise<void>((resolve, reject) => {
      let log = ''
      child.once('exit', () => reject(new Error(`the daemon did not start: ${log}`)))
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text
        if (/ runs, pid /.test(log)) resolve()
      })
    })
    const control = await socketConnector(controlSocketPath(folder))({})
    await control.call('workspace.open', { workspace: 'bench' }, 'c_open')
    await new Promise((resolve) => setTimeout(resolve, restMs))
    const mb = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
    const { lagMs } = await control.call('daemon.status', {}, 'c_status')
    await control.close()
    return { mb, lagMs: lagMs.p99 }
  } finally {
    process.off('exit', kill)
    child.kill('SIGTERM')
    await new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(undefined)))
  }
}
