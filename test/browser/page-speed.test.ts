// The speed of the page, printed: the first load, from a send to visible text, and the cost of an open page. With very much in it: page-many.test.ts.

import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guardMs } from '../guard.ts'
import { found, inChromium } from './chromium.ts'
import { at, frames, say, workMeter } from './measure.ts'
import { PageWorld } from './page-world.ts'

const [rounds, perSecond, seconds] = [3, 50, 4]

describe.skipIf(found.path === undefined)(`the page's speed, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
  })
  afterAll(async () => {
    await world?.stop()
  })

  it('first load', async () => {
    const context = await world.browser.newContext()
    context.setDefaultTimeout(guardMs)
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(await world.link())
    await page.locator('.view-now').waitFor()
    await page.waitForTimeout(500)
    say(`first load: ${Math.round(bytes / 1024)} KB compressed, headers included`)
    expect(bytes).toBeLessThanOrEqual(250 * 1024)
    await context.close()
  })

  it('from a send to visible text', async () => {
    const { page } = world
    const ann = await world.agent('Ann')
    await world.show('talk', '#general')
    await page.locator('.messages').waitFor()
    // The floor, in the same run: frames of a page that has nothing to draw, and a program that watches the same messages.
    const empty = await page.evaluate(frames, 120)
    const { workMs } = await workMeter(page)
    const before = await workMs()
    const heard: number[] = []
    const watcher = await world.agent('Watcher')
    await watcher.client.watch({ types: ['message.created'] }, () => heard.push(Date.now())).ready
    const all: number[][] = []
    const floors: number[] = []
    for (let round = 0; round < rounds; round++) {
      const watching = page.evaluate(whenVisible, { round, count: perSecond * seconds })
      const sentAt: number[] = []
      const start = Date.now()
      for (let i = 0; i < perSecond * seconds; i++) {
        sentAt.push(Date.now())
        void ann.messages.send('#general', `speed ${round}.${i}`)
        await sleep(Math.max(0, start + ((i + 1) * 1000) / perSecond - Date.now()))
      }
      const seenAt = await watching
      const heardAt = heard.splice(0)
      floors.push(
        at(empty, 0.95) +
          at(
            sentAt.map((sent, i) => (heardAt[i] ?? Date.now()) - sent),
            0.95,
          ),
      )
      all.push(sentAt.map((sent, i) => (seenAt[i] as number) - sent))
    }
    const p50s = all.map((delays) => at(delays, 0.5))
    const p95s = all.map((delays) => at(delays, 0.95))
    const floor = Math.round(at(floors, 0.5))
    const ownMs = ((await workMs()) - before) / (rounds * perSecond * seconds)
    say(
      `send to visible text at ${perSecond}/s: p50 ${at(p50s, 0.5)} ms, p95 ${at(p95s, 0.5)} ms (rounds ${p95s.join(', ')}); floor ${floor} ms; ` +
        `${ownMs.toFixed(1)} ms of work each`,
    )
    expect(all.flat()).toHaveLength(rounds * perSecond * seconds)
  })

  it('what an open page costs the daemon while nothing happens', async () => {
    // The daemon is in this process, with the browser's driver and these tests: what they cost without a page is taken off.
    const shareOf = async (): Promise<number> => {
      await world.page.waitForTimeout(1_500)
      const [before, start] = [process.cpuUsage(), performance.now()]
      await world.page.waitForTimeout(4_000)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000 / (performance.now() - start)
    }
    // In turn, and the least of each: the daemon may still be busy with what came before, with its search for example.
    const shares: { with: number[]; without: number[] } = { with: [], without: [] }
    for (let round = 0; round < rounds; round++) {
      await world.page.goto('about:blank')
      shares.without.push(await shareOf())
      await world.page.goto(`${world.http.url}/w/home/#/now`)
      await world.page.locator('.agent-row').first().waitFor()
      shares.with.push(await shareOf())
    }
    const without = Math.min(...shares.without)
    const share = Math.min(...shares.with) - without
    say(
      `an open page costs ${(share * 100).toFixed(1)} % of a core while idle; without one ${(without * 100).toFixed(1)} %`,
    )
  })
})

/** In the page: when each text stood there. One that was scrolled past between two frames stands above the next that is seen. */
function whenVisible({ round, count }: { round: number; count: number }): Promise<number[]> {
  return new Promise((resolve) => {
    const seenAt: number[] = []
    const look = (): void => {
      for (const row of document.querySelectorAll('.message .text')) {
        const [, its, i] = /^speed (\d+)\.(\d+)$/.exec(row.textContent ?? '') ?? []
        if (Number(its) === round) for (let n = seenAt.length; n <= Number(i); n++) seenAt.push(Date.now())
      }
      if (seenAt.length >= count) resolve(seenAt)
      else requestAnimationFrame(look)
    }
    look()
  })
}
