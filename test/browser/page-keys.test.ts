// Nothing is answered by accident: keys typed for a window that was just asked for never reach the page below it, however quickly they are typed,
// and no single key allows anything.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Relay } from '../../packages/sdk/src/index.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

const choices = [
  { id: 'yes', kind: 'allow' },
  { id: 'no', kind: 'deny' },
] as const

describe.skipIf(found.path === undefined)(`keys on the page, ${inChromium}`, () => {
  let world: PageWorld
  let coder: Relay
  let asked = 0
  beforeAll(async () => {
    world = await PageWorld.start()
    coder = await world.agent('Coder', { cli: 'claude' })
  })
  afterAll(async () => {
    await world?.stop()
  })

  const ask = (input: string) =>
    coder.client.call('approval.ask', {
      ...{ key: `k${++asked}`, vendor: 'claude', tool: 'Bash', input, directory: '/srv/shop' },
      choices: [...choices],
    })
  const openInputs = async () => (await coder.client.call('approval.list', {})).approvals.map(({ input }) => input)

  const windows = [
    { key: 'Control+k', text: 'agents' },
    { key: '/', text: 'add a dad' },
  ]
  const speeds = [0, 40, 90]

  it.each(speeds)('what is typed at %i ms a key goes into the window that was asked for', async (delay) => {
    const { page } = world
    const commands = ['npm publish one', 'npm publish two', 'npm publish three']
    const answers = commands.map(ask)
    for (const isChosen of [false, true]) {
      for (const { key, text } of windows) {
        // On a page that has just been loaded, and again.
        await page.reload()
        await page.locator('.need', { hasText: 'npm publish three' }).waitFor()
        for (const _ of ['first', 'second']) {
          await page.locator('#main').focus()
          if (isChosen) await page.keyboard.press('j')
          await page.keyboard.press(key)
          await page.keyboard.type(text, { delay })
          const input = page.locator('dialog[open] input').first()
          await input.waitFor()
          expect(await input.inputValue()).toBe(text)
          await page.keyboard.press('Escape')
          await input.waitFor({ state: 'detached' })
        }
      }
      await page.locator('#main').focus()
      if (isChosen) await page.keyboard.press('j')
      await page.keyboard.press('?')
      await page.keyboard.type('aadd', { delay })
      await page.keyboard.press('Escape')
      expect(await page.locator('.need-held, .need-deny').count()).toBe(0)
    }
    expect(await openInputs()).toEqual(commands)
    for (let i = 1; i <= asked; i++) await coder.client.call('approval.settle', { key: `k${i}`, how: 'cancelled' })
    for (const answer of answers) expect(await answer).toMatchObject({ how: 'cancelled' })
  })

  it('one `a` allows nothing, nor does a key that is held down; a second one does', async () => {
    const { page } = world
    await world.show('now')
    const answer = ask('npm run deploy')
    const row = page.locator('.need', { hasText: 'npm run deploy' })
    await row.waitFor()
    const hint = row.getByText('once more to allow it')
    const choose = async () => {
      await page.locator('#main').focus()
      await page.keyboard.press('j')
    }
    await choose()
    await page.keyboard.down('a')
    for (let i = 0; i < 5; i++) await page.keyboard.down('a')
    await page.keyboard.up('a')
    await hint.waitFor()
    // Another key, or another row, and it is forgotten.
    await page.keyboard.press('k')
    await hint.waitFor({ state: 'detached' })
    await page.keyboard.press('a')
    await hint.waitFor()
    await page.locator('#main').focus()
    await hint.waitFor({ state: 'detached' })
    await choose()
    await page.keyboard.press('a')
    await hint.waitFor()
    expect(await openInputs()).toEqual(['npm run deploy'])
    await page.keyboard.press('a')
    await row.getByRole('button', { name: 'Take it back' }).waitFor()
    expect(await answer).toMatchObject({ how: 'answered', kind: 'allow' })
  })

  it('`d` denies, and does nothing where nothing is chosen', async () => {
    const { page } = world
    await world.show('now')
    const theme = () => page.evaluate(() => document.documentElement.outerHTML.match(/<html[^>]*>/)?.[0])
    const before = await theme()
    await page.locator('#main').focus()
    await page.keyboard.press('d')
    expect(await theme()).toBe(before)
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
