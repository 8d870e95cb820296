// A workspace with very much in it, measured and printed: 200 agents, 1,000 conversations, 100,000 messages in one of them, and 50 more a second
// while somebody types. Its speed depends on other programs on this machine, so it is printed and not judged.

import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Relay } from '../../packages/sdk/src/index.ts'
import { expectNoLeak, guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { at, frames, heapMb, longestTask, say, workMeter } from './measure.ts'
import { PageWorld } from './page-world.ts'

const [agents, pairsEach, manyMessages, batch] = [200, 5, 100_000, 500]
const [rounds, seconds, perSecond] = [3, 10, 50]
/** What the page keeps of messages that came: some thousand, and then as many go as come. */
const keptMb = 7
const line = 'A line of some words, as agents write them to each other while they work.'

describe.skipIf(found.path === undefined)(`a large workspace on the page, ${inChromium}`, () => {
  let world: PageWorld
  let writer: Relay
  const crowd: Relay[] = []
  const nameOf = (n: number): string => `Agent${String(n % agents).padStart(3, '0')}`
  beforeAll(async () => {
    world = await PageWorld.start()
    for (let n = 0; n < agents; n += 20)
      crowd.push(...(await Promise.all(Array.from({ length: 20 }, (_, i) => world.agent(nameOf(n + i))))))
    for (let apart = 1; apart <= pairsEach; apart++)
      await Promise.all(crowd.map((agent, n) => agent.messages.send(nameOf(n + apart), `Should I take part ${apart}?`)))
    writer = await world.agent('Writer', { channels: ['#many'] })
    for (let n = 0; n < manyMessages; n += batch)
      await Promise.all(Array.from({ length: batch }, (_, i) => writer.messages.send('#many', `${n + i} ${line}`)))
  }, 4 * guardMs)
  afterAll(async () => {
    await world?.stop()
  })

  it('opens a channel of 100,000 messages, and scrolls through it', { timeout: 4 * guardMs }, async () => {
    const { page } = world
    const flooded = Date.now()
    await world.show('now')
    // The page was open all the while, and was told of what it could not draw any more.
    await page
      .getByText(`${manyMessages - 1} ${line}`)
      .first()
      .waitFor({ timeout: 2 * guardMs })
    say(`100,000 messages at once: the page shows the last one ${Date.now() - flooded} ms after it was sent`)
    const { workMs } = await workMeter(page)
    const start = [await workMs(), Date.now()] as const
    await world.show('talk', '#many')
    const newest = page.locator('.message .text', { hasText: `${manyMessages - 1} ` })
    await newest.waitFor()
    const [openWork, openMs] = [(await workMs()) - start[0], Date.now() - start[1]]
    const before = await workMs()
    const taken = await page.evaluate(scrollThrough)
    expect(await newest.count()).toBe(0)
    const ownMs = ((await workMs()) - before) / taken.length
    say(
      `100,000 messages: open in ${openMs} ms (${Math.round(openWork)} ms of work); scrolling ${taken.length} frames, p50 ${at(taken, 0.5).toFixed(1)} ms, ` +
        `p95 ${at(taken, 0.95).toFixed(1)} ms, longest ${Math.max(...taken).toFixed(1)} ms; ${ownMs.toFixed(1)} ms of work each`,
    )
  })

  it.each(['talk', 'now'] as const)(
    'goes on in %s while 50 messages a second come',
    { timeout: 4 * guardMs },
    async (view) => {
      const { page, browser } = world
      await world.show(view, ...(view === 'talk' ? ['#many'] : []))
      const { workMs, devtools } = await workMeter(page)
      const [longest, lates, waits, shares]: [number[], number[], number[], number[]] = [[], [], [], []]
      let sent = 0
      await heapMb(devtools)
      const heapBefore = await heapMb(devtools)
      for (let round = 0; round < rounds; round++) {
        const before = [await workMs(), performance.now()] as const
        const task = await longestTask(browser, page, async () => {
          const watching = page.evaluate(frames, seconds * 30)
          const typing = view === 'talk' ? type() : Promise.resolve([0])
          await flood()
          lates.push(Math.max(...(await watching)))
          waits.push(...(await typing))
        })
        longest.push(task)
        shares.push(((await workMs()) - before[0]) / (performance.now() - before[1]))
      }
      const grown = (await heapMb(devtools)) - heapBefore
      say(
        `${view} at ${perSecond}/s: longest task ${longest.map((ms) => ms.toFixed(1)).join(', ')} ms of work; ${(at(shares, 0.5) * 100).toFixed(0)} % of a core; ` +
          `latest frame ${lates.map((ms) => ms.toFixed(0)).join(', ')} ms; a key waits ${Math.max(...waits).toFixed(0)} ms at most; load ${(loadavg()[0] as number).toFixed(0)}; ${grown.toFixed(1)} MB more after ${sent} messages`,
      )
      expectNoLeak(grown, keptMb)

      async function flood(): Promise<void> {
        const start = performance.now()
        const sending: Promise<unknown>[] = []
        for (let i = 0; i < seconds * perSecond; i++, sent++) {
          const [agent, to] =
            i % 2 === 0 ? [writer, '#many'] : [crowd[i % agents] as Relay, nameOf(i + 1 + (i % pairsEach))]
          sending.push(agent.messages.send(to, `${sent} ${line}`))
          await sleep(Math.max(0, start + ((i + 1) * 1000) / perSecond - performance.now()))
        }
        await Promise.all(sending)
      }
      /** How long each key waited for the page, as the browser says it. */
      async function type(): Promise<number[]> {
        const field = page.getByLabel('Message', { exact: true })
        await page.evaluate(() => {
          const kept: number[] = []
          Object.assign(globalThis, { kept })
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries() as PerformanceEventTiming[])
              if (entry.name === 'keydown') kept.push(entry.processingStart - entry.startTime)
          }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit)
        })
        await field.fill('')
        await field.pressSequentially('typed while they come ', { delay: 120 })
        await until(async () => (await field.inputValue()) === 'typed while they come ')
        await field.fill('')
        return [0, ...(await page.evaluate(() => (globalThis as unknown as { kept: number[] }).kept))]
      }
    },
  )

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})

/** In the page: up by the wheel's steps, then across the whole; the time between two frames of each. */
async function scrollThrough(): Promise<number[]> {
  const list = document.querySelector('.messages') as HTMLElement
  const taken: number[] = []
  let last = await new Promise<number>(requestAnimationFrame)
  for (let i = 0; i < 240; i++) {
    list.scrollTop -= i % 60 === 59 ? list.scrollHeight / 8 : 120
    const now = await new Promise<number>(requestAnimationFrame)
    taken.push(now - last)
    last = now
  }
  return taken
}
