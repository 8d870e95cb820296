// The weight of a daemon without callers, against a bare Node: started as the command line starts it, its HTTP port listening, with one
// workspace open or with many that nobody uses.

import { spawn } from 'node:child_process'
import { residentMb } from '@agent-relay/prove/harness/processes'
import { bareEnv } from './child.ts'
import { withDaemon } from './cli-daemon.ts'
import { median } from './figures.ts'
import { against, type Measure } from './table.ts'

const restMs = 3_000
const max = { one: 2, many: 2 }

export async function measureIdle(rounds: number, workspaces: number): Promise<Measure[]> {
  const [bare, one, many]: [number[], Weighed[], Weighed[]] = [[], [], []]
  for (let i = 0; i < rounds; i++) {
    bare.push(await weighBare())
    one.push(await weigh(1))
    many.push(await weigh(workspaces))
  }
  const row = (measure: string, weighed: Weighed[], floor: number, max: number, note?: string): Measure => ({
    ...against(measure, { value: middle(weighed), floor, unit: 'MB', max, note }),
    lagMs: median(weighed.map(({ lagMs }) => lagMs)),
  })
  return [
    row(
      'idle daemon, resident',
      one,
      median(bare),
      max.one,
      'before the first MCP or HTTP session; the floor is a Node',
    ),
    row(
      `${workspaces} workspaces that nobody uses, resident`,
      many,
      middle(one),
      max.many,
      'the floor is one workspace',
    ),
  ]
}

interface Weighed {
  mb: number
  lagMs: number
}

const middle = (weighed: Weighed[]) => median(weighed.map(({ mb }) => mb))

async function weighBare(): Promise<number> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { env: bareEnv(), stdio: 'ignore' })
  await new Promise((resolve) => setTimeout(resolve, restMs))
  const mb = residentMb(child.pid as number)
  child.kill('SIGKILL')
  return mb
}

function weigh(workspaces: number): Promise<Weighed> {
  return withDaemon(async (control, pid) => {
    for (let i = 0; i < workspaces; i++)
      await control.call('workspace.open', { workspace: `bench-${i}` }, `c_open_${i}`)
    await new Promise((resolve) => setTimeout(resolve, restMs))
    const mb = residentMb(pid)
    const { lagMs } = await control.call('daemon.status', {}, 'c_status')
    return { mb, lagMs: lagMs.p99 }
  })
}
