// The page in a real browser: how long a message takes until a person can read it, and what an open page costs the daemon while nothing happens.
// Without Chromium there are no such rows.

import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMs } from './acp.ts'
import type { Relay } from './relay.ts'
import { ms } from './sends.ts'
import type { Measure } from './table.ts'
import { type Page, withPage } from './with-page.ts'

const perSecond = 50
const quietMs = 1_500

interface Speeds {
  sights(page: Page, clients: object, pace: object): Promise<Record<'p50Ms' | 'p95Ms' | 'floorMs' | 'workMs', number>>
}

export function measurePage(pace: { rounds: number; seconds: number }): Promise<Measure[]> {
  return withPage<Speeds>(async (relay, page, { sights }) => {
    const clients = { writer: await relay.client('Ann'), watcher: await relay.client('Watcher') }
    const { p50Ms, p95Ms, floorMs, workMs } = await sights(page, clients, { ...pace, perSecond })
    const lagMs = await relay.lagMs()
    const visible = {
      measure: `the page, from a send to visible text at ${perSecond}/s, p95`,
      ...{ value: ms(p95Ms), floor: ms(floorMs), ratio: p95Ms / floorMs, lagMs },
      note: `p50 ${ms(p50Ms)}; ${ms(workMs)} of the page's own work each; the floor is a frame and the event at a program`,
    }
    const idle = await idleRow(relay, page, pace)
    return [visible, { ...idle, lagMs: await relay.lagMs() }]
  })
}

/** With the page and without it in turn, and the least of each: the daemon may still be busy with what came before, with its search for example. */
async function idleRow(relay: Relay, page: Page, { rounds, seconds }: { rounds: number; seconds: number }) {
  const shareOf = async (): Promise<number> => {
    await sleep(quietMs)
    const [before, start] = [cpuMs(relay.pid), performance.now()]
    await sleep(seconds * 1_000)
    return (100 * (cpuMs(relay.pid) - before)) / (performance.now() - start)
  }
  const [open, closed]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    await page.goto('about:blank')
    closed.push(await shareOf())
    await page.goto(`${relay.url}/w/bench/#/now`)
    await page.locator('.agent-row').first().waitFor()
    open.push(await shareOf())
  }
  const percent = (shares: number[]) => `${Math.min(...shares).toFixed(1)} % of a core`
  return { measure: 'a daemon with an open page, idle', value: percent(open), floor: percent(closed) }
}
