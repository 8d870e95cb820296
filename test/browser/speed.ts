// The page in Chromium for the bench (test/bench/page.ts): how long a message takes from its send until its text is visible. No tests.
/// <reference lib="dom" />

import { setTimeout as sleep } from 'node:timers/promises'
import { chromium, type Page } from 'playwright-core'
import type { RelayClient } from '../../packages/sdk/src/index.ts'
import { printedLink } from './link.ts'
import { at, frames, heapMb, longestTask, workMeter } from './measure.ts'
import { findChromium } from './setup.ts'

/** Longer traces would not fit the browser's buffer while messages come. */
const tracedSeconds = 10

export interface Sights {
  p50Ms: number
  p95Ms: number
  /** The 95th percentiles of the frames of a page that draws nothing, and of a program that watches the same messages. */
  floorMs: number
  /** Processor time of the page's own thread for each message. */
  workMs: number
}

/** The page of a daemon, opened by the link to it; undefined where there is no Chromium. */
export async function openPage(dataDir: string, project: string) {
  const executablePath = findChromium()
  if (executablePath === undefined) return undefined
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.goto(await printedLink(dataDir, project))
  await page.locator('.view-now').waitFor()
  return { page, close: () => browser.close() }
}

/** Medians of some rounds, while `writer` sends at a steady pace to the channel that the page shows. */
export async function sights(
  page: Page,
  { writer, watcher }: Record<'writer' | 'watcher', RelayClient>,
  { rounds, perSecond, seconds }: Record<'rounds' | 'perSecond' | 'seconds', number>,
): Promise<Sights> {
  const count = perSecond * seconds
  await page.evaluate(() => {
    location.hash = '#/talk/%23general'
  })
  await page.locator('.messages').waitFor()
  const emptyMs = at(await page.evaluate(frames, 120), 0.95)
  const { workMs } = await workMeter(page)
  const before = await workMs()
  const heardAt: number[] = []
  await watcher.watch({ types: ['message.created'] }, () => heardAt.push(Date.now())).ready
  const [p50s, p95s, floors]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    const watching = page.evaluate(whenVisible, { round, count })
    const sentAt = await sendAtPace(writer, { round, perSecond, count })
    const delays = (times: readonly number[]) => sentAt.map((sent, i) => (times[i] ?? Date.now()) - sent)
    const seen = delays(await watching)
    p50s.push(at(seen, 0.5))
    p95s.push(at(seen, 0.95))
    floors.push(emptyMs + at(delays(heardAt.splice(0)), 0.95))
  }
  const ownMs = ((await workMs()) - before) / (rounds * count)
  return { p50Ms: at(p50s, 0.5), p95Ms: at(p95s, 0.5), floorMs: at(floors, 0.5), workMs: ownMs }
}

/** Answers when each was sent. */
async function sendAtPace(
  writer: RelayClient,
  { round, perSecond, count }: Record<'round' | 'perSecond' | 'count', number>,
): Promise<number[]> {
  const sentAt: number[] = []
  const start = Date.now()
  for (let i = 0; i < count; i++) {
    sentAt.push(Date.now())
    void writer.send('#general', `speed ${round}.${i}`)
    await sleep(Math.max(0, start + ((i + 1) * 1000) / perSecond - Date.now()))
  }
  return sentAt
}

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

/** One stretch of a page under a steady pace: how long its thread worked at a stretch, and what it held afterwards. */
export interface Strain {
  longestMs: number
  heapMb: number
}

/** Shows `hash` while `flood` sends, whose first ten seconds are traced. */
export async function strain(page: Page, hash: string, flood: (seconds: number) => Promise<void>, seconds: number) {
  const browser = page.context().browser()
  if (browser === null) throw new Error('the page has no browser')
  await page.evaluate((to) => {
    location.hash = to
  }, hash)
  await page.locator(hash === '#/now' ? '.view-now' : '.messages').waitFor()
  const longestMs = await longestTask(browser, page, () => flood(tracedSeconds))
  await flood(seconds - tracedSeconds)
  const { devtools } = await workMeter(page)
  const found: Strain = { longestMs, heapMb: await heapMb(devtools) }
  await devtools.detach()
  return found
}
