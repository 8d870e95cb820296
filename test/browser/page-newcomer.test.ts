// The page for a newcomer, or with very much in it: by the keyboard alone, with long names, long texts and many agents.

import { tmpdir } from 'node:os'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

const long = { agent: `a-very-long-name.${'x'.repeat(40)}`, channel: `#${'long-channel-'.repeat(4)}end` }

/** What sticks out of the screen, or covers its neighbour's column. What may be wider scrolls by itself, or is cut with dots. */
const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [
      ...document.querySelectorAll(
        '#page *:not(.lane-scroll *, .xterm *, .clip *, .clip-2 *, svg *, pre *, .table-scroll *)',
      ),
    ]
      .filter((element) => {
        const { right } = element.getBoundingClientRect()
        const column = element.closest('.split-list, .now, .chat, .thread, .letter')
        return right > Math.min(innerWidth, column?.getBoundingClientRect().right ?? innerWidth) + 1
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  )

describe.skipIf(found.path === undefined)(`the page for a newcomer, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
  })
  afterAll(async () => {
    await world?.stop()
  })

  it('says the next command where there is nothing yet, at every view, and again after a reload', async () => {
    const { page } = world
    const texts = {
      ...{ now: 'No agent has come yet', talk: 'Choose a conversation', agent: 'No agent has come yet' },
      runs: 'No run yet',
    }
    for (const [view, text] of Object.entries(texts)) {
      await world.show(view as 'now')
      await page.reload()
      await page.getByText(text).first().waitFor()
      await page.locator('.command').first().waitFor()
    }
    await world.show('now')
    await page.getByText('agent-relay mcp install').waitFor()
    await until(() => page.getByRole('link', { name: 'Spawn a first worker' }).isVisible())
  })

  it('plays the demo in a workspace of its own, with an approval to answer and a worker to watch', async () => {
    const { page } = world
    await world.show('now')
    await page.getByRole('button', { name: 'Play the demo' }).click()
    await page.waitForURL(/\/w\/demo-[0-9a-f]{4}\//)
    await page.locator('.agent-row', { hasText: 'tester' }).waitFor()
    await page.locator('.agent-row', { hasText: 'builder' }).waitFor()
    await page.getByRole('button', { name: 'Allow once' }).first().click()
    // Until then the answer can be taken back.
    await page.getByText('Take it back').waitFor()
    await page.getByText('Take it back').waitFor({ state: 'detached' })
    await world.show('talk', '#build')
    await page.locator('.message', { hasText: 'Tested and approved: 1.4 is out.' }).waitFor()
    await page.goto(`${world.http.url}/w/home/`)
    await until(() => page.getByText('No agent has come yet').isVisible())
  })

  it('shows where the keyboard is, on the whole way through', async () => {
    const { page } = world
    await world.show('now')
    const seen = new Set<string>()
    for (let i = 0; i < 18; i++) {
      await page.keyboard.press('Tab')
      const [name, outline] = await page.evaluate(() => {
        const at = document.activeElement as HTMLElement
        const isNone = at === document.body || getComputedStyle(at).outlineStyle !== 'none'
        return [at.getAttribute('aria-label') ?? at.textContent ?? '', isNone ? 'seen' : 'unseen']
      })
      expect([name, outline]).toEqual([name, 'seen'])
      seen.add(name)
    }
    for (const name of ['Skip to content', 'Search ( / )', 'log out', 'Spawn a worker'])
      expect([...seen].some((each) => each.includes(name))).toBe(true)
  })

  it('spawns by a line with quotes in quotes, and says what ended at once', async () => {
    const { page } = world
    const spawn = async (name: string, command: string): Promise<void> => {
      await page.goto(`${world.http.url}/w/home/#/agent?spawn=1`)
      await page.getByLabel('Name').fill(name)
      await page.getByLabel('CLI').selectOption('plain')
      await page.getByLabel('Command').fill(command)
      await page.getByLabel('Directory').fill(tmpdir())
      await page.getByRole('button', { name: 'Spawn' }).click()
    }
    await spawn('Quick', `bash -c 'echo boom; exit 3'`)
    await page.getByText('boom').waitFor()
    expect(await page.locator('.failure').textContent()).toContain('code 3')
    await spawn('Shell', String.raw`bash -c "echo \"hello there\"; cat"`)
    await page.locator('.xterm-rows').getByText('hello there').waitFor()
    await page.goBack()
    await page.getByLabel('Name').waitFor()
    await page.goForward()
    await page.locator('.xterm-rows').getByText('hello there').waitFor()
  })

  it('offers what is installed first, directories, and a worktree', async () => {
    const { page } = world
    await page.goto(`${world.http.url}/w/home/#/agent?spawn=1`)
    const missing = page.getByLabel('CLI').locator('optgroup')
    await missing.waitFor({ state: 'attached' })
    expect(await missing.getAttribute('label')).toBe('Not installed here')
    await page.getByLabel('Git worktree').selectOption('its own, on a branch of its own')
    const directories = page.locator('datalist:has(~ *), datalist').locator(`option[value="${tmpdir()}"]`)
    await directories.first().waitFor({ state: 'attached' })
    expect(await page.locator('form label').allTextContents()).not.toContainEqual(expect.stringMatching(/--|free/))
  })

  it('leaves the person where they have gone, when an answer comes late', async () => {
    const { page } = world
    await page.goto(`${world.http.url}/w/home/#/agent?spawn=1`)
    // The form of the test before still has its choices.
    await page.reload()
    await page.getByLabel('Name').fill('Late')
    await page.getByLabel('CLI').selectOption('plain')
    await page.getByLabel('Command').fill('sh -c "echo hello; cat"')
    await page.getByLabel('Directory').fill(tmpdir())
    await page.getByRole('button', { name: 'Spawn' }).click()
    await world.show('now')
    // The answer comes once the program lives, and the agent's state is asked for after that.
    await page
      .locator('.agent-row', { hasText: 'Late' })
      .getByText(/idle|busy|active|offline/)
      .waitFor()
    expect(new URL(page.url()).hash).toBe('#/now')
  })

  it('says in full why a run was stopped', async () => {
    const { page } = world
    await page.goto(`${world.http.url}/w/home/#/runs?start=1`)
    await page.getByLabel('Contract').fill('Count the sheep.')
    await page.getByRole('button', { name: 'Start' }).click()
    const note = page.locator('.note', { hasText: 'No model is configured' })
    await note.waitFor()
    expect(await note.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
  })

  it('opens on the most useful entry, and on the list on a narrow screen', async () => {
    const { page } = world
    for (const [view, chosen] of [
      ['agent', '.agent-head'],
      ['runs', '.facts'],
    ] as const) {
      await page.setViewportSize({ width: 390, height: 780 })
      await world.show(view)
      await page.locator('.pick').first().waitFor()
      expect(await page.locator(chosen).count()).toBe(0)
      await page.setViewportSize({ width: 1280, height: 860 })
      await world.show('now')
      await world.show(view)
      await page.locator(chosen).first().waitFor()
      await page.locator('.pick[aria-current]').waitFor()
    }
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  it('goes through what was found with the arrows, and leaves a thread with Escape', async () => {
    const { page, me } = world
    const ann = await world.agent('Ann')
    for (const text of ['needle one', 'needle two', 'needle three']) await ann.client.send(me, text)
    await world.show('now')
    await page.keyboard.press('/')
    await page.keyboard.type('needle')
    await page.getByRole('dialog').getByText('needle one').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('.message.is-marked', { hasText: 'needle two' }).waitFor()
    await page.keyboard.press('c')
    await page.keyboard.type('by keys alone')
    await page.keyboard.press('Enter')
    const mine = page.locator('.message', { hasText: 'by keys alone' })
    await mine.hover()
    await mine.getByLabel('Thread', { exact: true }).click()
    await page.locator('.thread textarea').focus()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.locator('.thread').waitFor({ state: 'detached' })
    expect(page.url()).toContain('#/talk/')
  })

  it('sends what a form with forms in it holds', async () => {
    const { page } = world
    const taken: unknown[] = []
    const provider = await world.agent(long.agent, { cli: 'claude', model: 'a-model-of-a-rather-long-name' })
    await provider.actions.register({
      name: 'deep.form',
      description: 'Takes a nested thing.',
      inputSchema: z.object({
        who: z.object({
          name: z.string(),
          tags: z.array(z.string()),
          where: z.object({ city: z.string().optional(), isHome: z.boolean() }),
        }),
        count: z.number().int().default(3),
      }),
      handler: (input) => {
        taken.push(input)
        return { ok: true }
      },
    })
    await world.show('actions', 'deep.form')
    await page.getByLabel('name string').fill('Kim')
    await page.getByLabel('tags array').fill('["a", "b"]')
    await page.getByLabel('isHome boolean').check()
    await page.getByRole('button', { name: 'Call' }).click()
    await page.locator('.result-box.good').waitFor()
    expect(taken).toEqual([{ who: { name: 'Kim', tags: ['a', 'b'], where: { isHome: true } }, count: 3 }])
  })

  it.each([1440, 1000, 360])('keeps long names and texts in their columns at %i pixels', async (width) => {
    const { page, me } = world
    const wordy = await world.agent(long.agent, { channels: [long.channel] })
    await wordy.messages.send(long.channel, '200 KB '.repeat(29_000))
    await wordy.messages.send(me, 'no-space'.repeat(90), { kind: 'directive' })
    await page.setViewportSize({ width, height: 760 })
    const places: [hash: string, ready: string][] = [
      ['now', '.need'],
      [`talk/${encodeURIComponent(long.channel)}`, '.message'],
      [`agent/${long.agent}/sent`, '.letter'],
      [`agent/${me}`, '.agent-title'],
      ['actions/deep.form', '.form'],
      ['recorder', '.event[aria-current]'],
    ]
    for (const [hash, ready] of places) {
      await page.goto(`${world.http.url}/w/home/#/${hash}`)
      await page.locator(ready).first().waitFor()
      expect([hash, await tooWide(page)]).toEqual([hash, []])
    }
    await page.goto(`${world.http.url}/w/home/#/talk/${encodeURIComponent(long.channel)}`)
    await page
      .getByRole('button', { name: /Show all 202,999/ })
      .last()
      .click()
    await page.getByRole('button', { name: 'Show less' }).waitFor()
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  it('shows 500 agents', async () => {
    const { page } = world
    for (let n = 0; n < 500; n += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, i) => world.http.token(`Agent${String(n + i).padStart(3, '0')}`)),
      )
    await world.show('now')
    await page.getByRole('button', { name: /5\d\d finished or away/ }).click()
    await page.locator('.agent-row', { hasText: 'Agent499' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('button', { name: /5\d\d finished or away/ }).click()
    await page.locator('.pick', { hasText: 'Agent499' }).waitFor()
    await until(async () => (await page.locator('.pick').count()) > 500)
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
