// The daemon in a process of its own, on disk, with one workspace open.

import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Daemon } from 'agent-relay/dist/daemon/daemon.js'
import { serve } from './serve.ts'

export interface RelayQuestion {
  dataDir: string
  project: string
  /** Serve HTTP too, on a free port. */
  hasHttp?: boolean
  /** Where runs find their model. */
  env?: Record<string, string>
}

/** How long the event loop stood still at most since the last time it was asked. */
export interface StallQuestion {
  stall: true
}

export interface RelayAnswer {
  socketPath: string
  key: string
  url?: string
}

const resolutionMs = 1
const stalls = monitorEventLoopDelay({ resolution: resolutionMs })

function answer(question: RelayQuestion | StallQuestion): Promise<RelayAnswer> | number {
  if (!('stall' in question)) return open(question)
  stalls.enable()
  const stalledMs = stalls.max / 1e6 - resolutionMs
  stalls.reset()
  return stalledMs
}

async function open({ dataDir, project, hasHttp, env }: RelayQuestion): Promise<RelayAnswer> {
  const daemon = await Daemon.start({
    dataDir,
    credentialsPath: join(dataDir, 'credentials.json'),
    env,
    http: hasHttp ? { port: 0, home: project } : undefined,
    onTrouble: (error) => process.stderr.write(`${error.message}\n`),
    onStop: () => process.exit(1),
  })
  if (!daemon) throw new Error('another daemon has this folder')
  const { entry, key } = await daemon.open(project)
  process.once('SIGTERM', () => daemon.stop().then(() => process.exit(0)))
  return { socketPath: entry.socketPath, key: key as string, url: daemon.url }
}

serve(answer)
