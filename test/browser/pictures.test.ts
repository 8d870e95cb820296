// The screens of every view with a bit of everything in it. With RELAY_PICTURES they become the pictures in docs/pictures.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'
import { furnish, harnesses, scenes } from './scenes.ts'

const isKept = process.env.RELAY_PICTURES !== undefined
const folder = isKept
  ? fileURLToPath(new URL('../../docs/pictures', import.meta.url))
  : mkdtempSync(join(tmpdir(), 'pictures-'))

/** Forms are no sight, nor are views before something was chosen. */
const forms = ['spawn', 'start-run', 'thread', 'agents', 'all actions']

const sizes = [
  { name: 'wide', width: 1440, height: 900, scheme: 'light' },
  { name: 'narrow', width: 390, height: 780, scheme: 'dark' },
] as const

describe.skipIf(found.path === undefined)(`pictures, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true })
    world = await PageWorld.start({ harnesses })
    await furnish(world)
    // There is a second workspace by now.
    await world.page.reload()
  })
  afterAll(async () => {
    await world?.stop()
    if (!isKept) rmSync(folder, { recursive: true, force: true })
  })

  it.each(sizes)('$name', async ({ name, width, height, scheme }) => {
    const { page } = world
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme: scheme })
    for (const [scene, hash, ready] of scenes.filter(([each]) => !forms.includes(each))) {
      await page.goto(`${world.http.url}/w/home/${hash}`)
      await page.locator(ready).first().waitFor()
      if (scene === 'recorder') await page.locator('.event', { hasText: 'Parser is green' }).click()
      if (scene === 'runs') await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.mouse.move(0, 0)
      await page.waitForTimeout(400)
      const taken = await page.screenshot({ path: join(folder, `${scene}-${name}.png`) })
      expect(taken.length).toBeGreaterThan(5_000)
    }
    expect(world.complaints).toEqual([])
  })
})
