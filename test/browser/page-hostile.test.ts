// Text stays text: a hundred hostile strings as bodies, threads, payloads, summaries, descriptions and terminal output; and who is not let in.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clean } from '@agent-relay/sdk/internal/clean'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { guardMs } from '../guard.ts'
import { found, inChromium } from './chromium.ts'
import { hostile } from './hostile.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`a hostile world, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
  })
  afterAll(async () => {
    await world?.stop()
  })

  const written = (text: string): string => text.replace(/[`\s]/g, '')

  /** Nothing ran, nothing went out, nothing is wider than the window. */
  async function isSafe(): Promise<void> {
    const state = await world.page.evaluate(() => ({
      caught: (globalThis as { caught?: string }).caught,
      isWide: document.documentElement.scrollWidth > innerWidth,
      strangers: document.querySelectorAll('#page script, #page iframe, #page form[action], #page img, #page base')
        .length,
    }))
    expect(state).toEqual({ caught: undefined, isWide: false, strangers: 0 })
    expect(world.complaints).toEqual([])
  }

  it('shows a hundred of them as messages, as they are', async () => {
    const { page } = world
    const eve = await world.agent('Eve', { channels: ['#trap'] })
    await world.show('talk')
    await page.getByLabel('Open a conversation').fill('#trap')
    await page.keyboard.press('Enter')
    for (const { mark, text } of hostile) {
      const { id } = await eve.messages.send('#trap', text)
      await world.show('talk', '#trap', id)
      const row = page.locator('.message.is-marked')
      await page.locator(`.message.is-marked[data-message="${id}"]`).waitFor()
      const unfold = row.getByRole('button', { name: /^Show all/ })
      if ((await unfold.count()) > 0) await unfold.click()
      const shown = (await row.locator('.text').textContent()) ?? ''
      // The signs of Markdown are taken as such; everything else stands there as it was written.
      if (text.includes('![')) expect(shown).toContain(mark)
      else expect(written(shown)).toBe(written(clean(text)))
    }
    await isSafe()
    await page.setViewportSize({ width: 360, height: 740 })
    await isSafe()
    await page.setViewportSize({ width: 1440, height: 900 })
  })

  it('shows them in every other place', async () => {
    const { page } = world
    const eve = await world.agent('Mallory')
    const one = hostile.filter(({ text }) => text.length < 300)
    const texts = one.map(({ text }) => text)
    await eve.messages.send(world.me, texts.slice(0, 20).join(' '))
    await eve.client.call('action.register', {
      name: 'bad.one',
      description: texts.slice(0, 8).join(' '),
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(texts.slice(0, 25).map((text) => [text, { type: 'string', description: text }])),
      },
    })
    const run = await eve.client.call('run.start', { contract: texts.join('\n'), harness: 'external' })
    await eve.client.call('run.complete', {
      run: run.id,
      summary: texts.join('\n').slice(0, 3_000),
      payload: texts.join('\n'),
    })
    for (const view of ['now', 'runs', 'recorder'] as const) {
      await world.show(view)
      await page.waitForTimeout(300)
      await isSafe()
    }
    await world.show('actions', 'bad.one')
    await page.getByRole('button', { name: 'Call' }).waitFor()
    await isSafe()
    await world.show('runs', run.id)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByRole('button', { name: 'Download' }).waitFor()
    await isSafe()
    await world.show('agent', 'Mallory', 'sent')
    await page.locator('.letter').first().waitFor()
    await isSafe()
  })

  it('shows them in a terminal, which asks for nothing and changes nothing outside of it', async () => {
    const { page } = world
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.evaluate(() => navigator.clipboard.writeText('mine'))
    // Hours of scrolling and repeating, taken at their word.
    const endless = ['L', 'M', 'S', 'T', 'b', 'I', 'Z'].map((final) => `A\x1b[2147483647${final}`)
    const all = [...hostile.map(({ text }) => text), ...endless].join('\r\n')
    const boss = await world.agent('Boss')
    const path = join(world.http.dir, 'shout.txt')
    writeFileSync(path, all)
    const script = `
      setTimeout(() => process.stdout.write(require('node:fs').readFileSync(process.argv[1])), 300)
      setTimeout(() => console.log('all said'), 800)
      setInterval(() => {}, 1000)`
    const command = [process.execPath, '-e', script, path]
    await boss.client.call('worker.spawn', { name: 'Shouter', cli: 'plain', command, cwd: '/' })
    await world.show('agent', 'Shouter', 'terminal')
    await page.locator('.xterm-rows').getByText('all said').waitFor()
    await page.getByRole('switch').click()
    await page.locator('.xterm-screen').click()
    await isSafe()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('mine')
    expect(await page.title()).toContain('Agent Relay')
    expect(page.context().pages()).toHaveLength(1)
    await boss.client.call('worker.release', { name: 'Shouter' })
  })

  it('opens for nobody without a valid code, from elsewhere, or in a frame', async () => {
    const { browser, http } = world
    const link = await world.link()
    const stranger = await (await browser.newContext()).newPage()
    stranger.setDefaultTimeout(guardMs)
    await stranger.goto(http.url)
    await stranger.getByText('works once and for five minutes').waitFor()
    await stranger.goto(link)
    await stranger.getByText('you are').waitFor()
    const second = await (await browser.newContext()).newPage()
    second.setDefaultTimeout(guardMs)
    await second.goto(link)
    await second.getByText('This code was used or is too old').waitFor()
    // A logout ends what is open, and says so.
    await world.control('page.logout')
    await stranger.getByText('This login has ended.').waitFor()
    const framed = await (await browser.newContext()).newPage()
    framed.setDefaultTimeout(guardMs)
    await framed.route('http://elsewhere.test/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${http.url}/"></iframe>` }),
    )
    await framed.goto('http://elsewhere.test/')
    await framed.waitForTimeout(300)
    const inside = framed.frames()[1]
    expect(await inside?.locator('#page').count()).toBe(0)
    const answer = await framed.evaluate(
      (url) =>
        fetch(`${url}/session`, { method: 'POST', headers: { 'X-Relay-Page': '1' }, body: '{}' }).then(
          () => 'answered',
          () => 'refused',
        ),
      http.url,
    )
    expect(answer).toBe('refused')
  })
})
