// A worker that prints as fast as it can: the daemon goes on with its own work, keeps the last of it, and does not grow.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { WorkerWorld } from '../../../packages/relay/tests/supervisor/worker-world.ts'
import { guardMs } from '../../guard.ts'
import { until } from '../../until.ts'

export interface FloodFigures {
  bytes: number
  lagMs: number
  grownMb: number
  /** Calls of another session meanwhile, and the 99th percentile of their time. */
  calls: number
  callMs: number
  lastLine: string
  ms: number
}

/** The daemon runs in this process, so this is its event loop. */
export async function flood(bytes: number): Promise<FloodFigures> {
  const world = await WorkerWorld.start()
  const lag = monitorEventLoopDelay({ resolution: 1 })
  try {
    const script = `head -c ${bytes} /dev/zero | tr '\\0' x; echo; echo the end; exec sleep 600`
    const before = process.memoryUsage.rss()
    const from = performance.now()
    await world.client('Other')
    lag.enable()
    await world.lead.call('worker.spawn', { name: 'Flood', cli: 'plain', command: ['sh', '-c', script] })
    let most = before
    const times: number[] = []
    let lastLine = ''
    await until(async () => {
      most = Math.max(most, process.memoryUsage.rss())
      const at = performance.now()
      await world.lead.call('message.send', { to: 'Other', body: 'still here?' })
      times.push(performance.now() - at)
      if ((await world.status('Flood')) === 'idle')
        lastLine = (await world.lead.call('worker.screen', { name: 'Flood' })).text.trimEnd().split('\n').at(-1) ?? ''
      return lastLine !== ''
    }, 7 * guardMs)
    lag.disable()
    times.sort((a, b) => a - b)
    return {
      ...{ bytes, lagMs: lag.percentile(99) / 1e6, grownMb: (most - before) / 1e6, calls: times.length },
      ...{
        callMs: times[Math.floor(times.length * 0.99)] as number,
        lastLine,
        ms: Math.round(performance.now() - from),
      },
    }
  } finally {
    await world.stop()
  }
}
