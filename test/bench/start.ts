// The start of the command line against a bare Node: `--version`, `hook`, which runs at every turn of an agent, and the commands that are typed most.

import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { RelayClient } from '@agent-relay/sdk'
import { bareEnv, Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import type { RelayAnswer } from './roles/relay.ts'
import type { Measure } from './table.ts'

const limit = 1.6
const launcher = join(
  dirname(createRequire(import.meta.url).resolve('agent-relay/package.json')),
  'bin/agent-relay.cjs',
)

export async function measureStart(rounds: number): Promise<Measure[]> {
  const daemon = new Child('relay')
  const { socketPath } = await daemon.ask<RelayAnswer>({ dataDir: temporaryFolder(), project: 'bench' })
  const agent = new RelayClient({ agentName: 'hooked', socketPath, autoConnect: false })
  const { token = '' } = await agent.connect()
  const identity = { RELAY_AGENT_NAME: 'hooked', RELAY_AGENT_TOKEN: token }
  const env = bareEnv({ RELAY_SOCKET: socketPath, NODE_EXTRA_CA_CERTS: '', HOME: temporaryFolder(), ...identity })
  try {
    const runs = {
      bare: ['-e', '0'],
      'agent-relay --version': [launcher, '--version'],
      'agent-relay hook, inbox empty': [launcher, 'hook', 'Stop'],
      'agent-relay who': [launcher, 'who'],
      'agent-relay send': [launcher, 'send', '#general', 'hi'],
      'agent-relay inbox': [launcher, 'inbox'],
    }
    const times = Object.fromEntries(Object.keys(runs).map((name) => [name, [] as number[]]))
    for (let i = 0; i < rounds; i++)
      for (const [name, args] of Object.entries(runs)) times[name]?.push(await timed(args, env))
    const floor = median(times.bare ?? [])
    return Object.entries(times)
      .filter(([name]) => name !== 'bare')
      .map(([measure, each]) => ({
        measure,
        value: `${median(each).toFixed(1)} ms`,
        floor: `${floor.toFixed(1)} ms`,
        ratio: median(each) / floor,
        limit: `<= ${limit}`,
        isMet: median(each) / floor <= limit,
        lagMs: 0,
      }))
  } finally {
    await agent.disconnect()
    await daemon.stop()
  }
}

function timed(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'ignore'] })
  return new Promise((resolve, reject) =>
    child.once('exit', (code) =>
      code === 0 ? resolve(performance.now() - from) : reject(new Error(`${args.join(' ')} ended with ${code}`)),
    ),
  )
}
