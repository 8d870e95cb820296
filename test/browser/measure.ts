// Measures of the page: its own work, which does not depend on other programs on this machine, and frames, which do.
/// <reference lib="dom" />

import type { Browser, CDPSession, Page } from 'playwright-core'

export const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] as number

export const say = (text: string): void => void process.stderr.write(`  ${text}\n`)

/** Answers how much processor time the page's own thread has used so far, in milliseconds. */
export async function workMeter(page: Page): Promise<{ workMs(): Promise<number>; devtools: CDPSession }> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  const workMs = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0) * 1000
  }
  return { workMs, devtools }
}

interface Traced {
  name: string
  ph: string
  pid: number
  tid: number
  /** Of processor time, in microseconds. */
  tdur?: number
  args?: { name?: string }
}

/** The longest that the page's thread worked at a stretch while `work` ran, in milliseconds of processor time. */
export async function longestTask(browser: Browser, page: Page, work: () => Promise<void>): Promise<number> {
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  await work()
  const { traceEvents } = JSON.parse(String(await browser.stopTracing())) as { traceEvents: Traced[] }
  const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const isMain = (event: Traced) => threads.some(({ pid, tid }) => event.pid === pid && event.tid === tid)
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && isMain(event))
  if (tasks.length === 0) throw new Error('the browser traced no tasks')
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000
}

/** In the page: the times between frames, as long as it is asked to. */
export async function frames(count: number): Promise<number[]> {
  const taken: number[] = []
  let last = await new Promise<number>(requestAnimationFrame)
  for (let i = 0; i < count; i++) {
    const now = await new Promise<number>(requestAnimationFrame)
    taken.push(now - last)
    last = now
  }
  return taken
}

export async function heapMb(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}
