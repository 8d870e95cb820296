// Accessibility: no serious finding of axe-core on any view, in both themes; nothing wider than a narrow screen.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { found, inChromium } from './chromium.ts'
import { axePath, findingsOn, PageWorld } from './page-world.ts'
import { furnish, harnesses, scenes } from './scenes.ts'

describe.skipIf(found.path === undefined)(`the page for everybody, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start({ harnesses })
    await furnish(world)
    // By a protocol of the browser itself: the page's policy lets no script in, and is not loosened for a test.
    await world.page.addInitScript({ path: axePath })
    await world.page.reload()
  })
  afterAll(async () => {
    await world?.stop()
  })

  for (const scheme of ['light', 'dark', 'forced colours'] as const)
    it.each(scenes)(`%s has no serious finding, ${scheme}`, async (_name, hash, ready) => {
      const { page } = world
      // Without motion: a colour on its way from one theme to the other is neither.
      await page.emulateMedia({
        colorScheme: scheme === 'dark' ? 'dark' : 'light',
        forcedColors: scheme === 'forced colours' ? 'active' : 'none',
        reducedMotion: 'reduce',
      })
      await page.goto(`${world.http.url}/w/home/${hash}`)
      await page.locator(ready).first().waitFor()
      expect(await findingsOn(page)).toEqual([])
    })

  it.each(['Control+k', '/', '?'])('what %s opens has no serious finding', async (key) => {
    const { page } = world
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'reduce' })
    await world.show('now')
    await page.locator('#main').focus()
    await page.keyboard.press(key)
    await page.getByRole('dialog').waitFor()
    if (key === 'Control+k') await page.getByRole('dialog').getByRole('option').first().waitFor()
    expect(await findingsOn(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it.each([390, 360])('nothing is wider than %i pixels', async (width) => {
    const { page } = world
    await page.setViewportSize({ width, height: 780 })
    for (const [name, hash, ready] of scenes) {
      await page.goto(`${world.http.url}/w/home/${hash}`)
      await page.locator(ready).first().waitFor()
      if (name === 'talk') await answerOne(page)
      const tooWide = await page.evaluate(() =>
        // What may be wider scrolls by itself, or is cut with dots.
        [
          ...document.querySelectorAll(
            '#page *:not(.lane-scroll *, .chain-picture *, .terminal-place *, .clip *, pre *, .table-scroll *)',
          ),
        ]
          .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
          .map((element) => element.outerHTML.slice(0, 120)),
      )
      expect([hash, tooWide]).toEqual([hash, []])
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})

/** The composer at its fullest: as a member, with an answer begun. */
async function answerOne(page: Page): Promise<void> {
  const join = page.getByRole('button', { name: 'Join #build to write' })
  const field = page.getByLabel('Message', { exact: true })
  await join.or(field).waitFor()
  if (await join.isVisible()) await join.click()
  await field.waitFor()
  const message = page.locator('.message', { hasText: 'Ship 1.4' }).first()
  await message.hover()
  await message.getByLabel('Reply').click()
  await page.getByText('Answer to Alice').waitFor()
}
