// Accessibility: axe-core finds nothing on any view, at both widths and in both themes; nothing is wider than a narrow screen, or too small for a finger there.

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

  for (const width of [1280, 390])
    for (const scheme of ['light', 'dark', 'forced colours'] as const)
      it.each(scenes)(`%s has no finding, ${width} pixels, ${scheme}`, async (_name, hash, ready) => {
        const { page } = world
        await page.setViewportSize({ width, height: 860 })
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

  it.each(['Control+k', '/', '?'])('what %s opens has no finding', async (key) => {
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

  it.each([390, 360])('nothing is wider than %i pixels, or smaller than a finger', async (width) => {
    const { page } = world
    await page.setViewportSize({ width, height: 780 })
    const small: string[] = []
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
      small.push(...(await tooSmall(page)).map((each) => `${name}: ${each}`))
    }
    expect(small).toEqual([])
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})

/** What is pressed by itself and smaller than a finger. A link in running text is as high as its line, and a terminal has a page of its own. */
async function tooSmall(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const pressed = 'button, select, textarea, input, nav a, a.quiet, a.icon-button, a[data-item]'
    return [...document.querySelectorAll(`#page :is(${pressed}):not(.skip, .xterm *, .text a)`)]
      .map((element) => element.closest('label:has(> [type="checkbox"])') ?? element)
      .filter((element) => {
        const { width, height } = element.getBoundingClientRect()
        return width > 0 && (height < 43.5 || width < 43.5)
      })
      .map((element) => `${element.getBoundingClientRect().height} ${element.outerHTML.slice(0, 120)}`)
  })
}

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
