// The start of the command line against a bare Node: `--version`, `hook`, which runs at every turn of an agent, the commands that are typed most, and a
// daemon until it answers.

import { spawn } from 'node:child_process'
import { RelayClient } from '@agent-relay/sdk'
import { bareEnv, Child, temporaryFolder } from './child.ts'
import { launcher, withDaemon } from './cli-daemon.ts'
import { median } from './figures.ts'
import type { RelayAnswer } from './roles/relay.ts'
import { against, type Measure } from './table.ts'

const limit = 1.6
/** A daemon takes as long as several commands do. */
const roundsPerDaemon = 3
/** A daemon answers once its database, its sockets and its HTTP port are open. Provisional: three runs on a quiet machine are to set it. */
const daemonLimit = 8

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
    const daemons: number[] = []
    for (let i = 0; i < rounds; i++) {
      for (const [name, args] of Object.entries(runs)) times[name]?.push(await timed(args, env))
      if (i % roundsPerDaemon === 0) daemons.push(await timedDaemon())
    }
    const { bare = [], ...commands } = times
    const floor = median(bare)
    return [
      ...Object.entries(commands).map(([measure, each]) =>
        against(measure, { value: median(each), floor, unit: 'ms', max: limit }),
      ),
      against("a daemon's start, until it answers", { value: median(daemons), floor, unit: 'ms', max: daemonLimit }),
    ]
  } finally {
    await agent.disconnect()
    await daemon.stop()
  }
}

/** From its spawn to the answer on its control socket. */
function timedDaemon(): Promise<number> {
  const from = performance.now()
  return withDaemon(async (control) => {
    await control.call('daemon.status', {}, 'c_status')
    return performance.now() - from
  })
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
