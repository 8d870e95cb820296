// Frees the memory of an idle daemon. V8 collects garbage only when something is allocated, so an idle daemon would keep the memory of its start or its last
// work for ever. A call of Node's inspector is the only way to collect garbage without changing V8's flags while the process runs.

import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'

/** Time for which a daemon must have almost nothing to do before it counts as idle. Two hundred sent messages a second take 4 % of its time. */
const calmMs = 3_000
/** Delay before the first check. It is shorter than later ones, because half of the memory after a start is garbage. */
const startedMs = 500
const idleShareMax = 0.01
/** Factor by which the heap must have grown since the last collection before garbage is collected again. */
const growth = 1.5
const growthBytesMin = 16 * 1024 * 1024

/** Collects all garbage, and compacts the rest so that half-empty pages go back to the system. Blocks the process for about 3 ms a megabyte. */
export async function collectGarbage(): Promise<void> {
  // In a Node built without the inspector, the daemon keeps its memory.
  if (!process.features.inspector) return
  const { Session } = await import('node:inspector/promises')
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
}

export function collectWhenIdle(): void {
  let since = performance.eventLoopUtilization()
  let smallest = 0
  const look = async () => {
    const total = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(total, since)
    const { total_heap_size: size } = getHeapStatistics()
    if (utilization <= idleShareMax && size > Math.max(growth * smallest, smallest + growthBytesMin)) {
      await collectGarbage().catch(() => {})
      smallest = getHeapStatistics().total_heap_size
    }
    since = performance.eventLoopUtilization()
    lookLater()
  }
  const lookLater = () => void setTimeout(look, smallest === 0 ? startedMs : calmMs).unref()
  lookLater()
}
