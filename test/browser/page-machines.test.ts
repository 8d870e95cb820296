// Machines on the page: two of them share a workspace on a real PostgreSQL, and a person on the laptop sees the box, its agents and its permissions.

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LaptopAndBox, workspace } from '../../packages/relay/tests/cluster/laptop-and-box.ts'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { axePath, complaintsOf, findingsOn, launch } from './page-world.ts'

describe.skipIf(found.path === undefined)(`machines, ${inChromium}`, () => {
  let place: LaptopAndBox
  let browser: Browser
  let page: Page
  let complaints: string[]
  beforeAll(async () => {
    place = await LaptopAndBox.start(undefined, { http: { port: 0 } })
    await place.hearOfEachOther()
    await place.enter(place.box, 'bob')
    browser = await launch()
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
    context.setDefaultTimeout(guardMs)
    page = await context.newPage()
    await page.addInitScript({ path: axePath })
    complaints = complaintsOf(page, place.laptop.url)
    await page.goto((await place.laptop.control('page.link', { workspace })).url)
    await page.getByText('you are').waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await place?.close()
  })

  const machines = () => page.getByRole('region', { name: 'Machines' })
  const row = (name: string) => machines().getByRole('listitem').filter({ hasText: name }).first()

  it('are shown with their state, their agents and what they may do here', async () => {
    await row('box').getByText('reached').waitFor()
    await row('box').getByRole('link', { name: 'bob' }).waitFor()
    await row('box').getByText('may ask for nothing here').waitFor()
    await row('box').getByText('agent-relay machine allow box approve release').waitFor()
    await row('laptop').getByText('owns this workspace').waitFor()
    await row('laptop').getByText('here', { exact: true }).waitFor()
    await place.allow(place.laptop, 'box', 'approve')
    await row('box').getByText('may approve here').waitFor()
    await until(() => row('box').getByText('agent-relay machine allow box release').isVisible())
  })

  it.each([1280, 390])('fit %i pixels and everybody can use them', async (width) => {
    await page.setViewportSize({ width, height: 860 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      expect(await findingsOn(page)).toEqual([])
      const right = await machines().evaluate((part) =>
        Math.max(...[...part.querySelectorAll('*')].map((each) => each.getBoundingClientRect().right)),
      )
      expect(right).toBeLessThanOrEqual(width)
    }
  })

  it('one whose daemon stops is said to, and a database that does not answer is said once, in the words of `workspace list`', async () => {
    await place.box.stop()
    await row('box').getByText('does not have this workspace open').waitFor()
    await row('box').getByText('1 away').waitFor()
    place.server.kill()
    const text = page.getByText('"team" cannot be reached at')
    await text.waitFor()
    expect(await text.count()).toBe(1)
    expect(await text.textContent()).toContain('It answered last at')
    await row('box').getByText('may approve here').waitFor()
    await place.server.resume()
    await text.waitFor({ state: 'detached' })
  })

  it('had nothing to complain about', () => {
    expect(complaints).toEqual([])
  })
})
