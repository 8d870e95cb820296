// Text as its writer meant it: Markdown, code and diffs in messages; and Markdown that wants to run, to load, or to take long.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { hostileMarkdown } from './hostile-markdown.ts'
import { say, workMeter } from './measure.ts'
import { PageWorld } from './page-world.ts'

const wideLine = `const line = '${'no place to wrap '.repeat(20)}'`

const review = `## Review

See [the change](https://git.example/pull/12), https://ci.example/run/991 and [parser](src/parser.ts#L31).

- [x] tests
- [ ] changelog

| file | lines |
|------|------:|
| lexer.ts | 120 |

\`\`\`ts
${wideLine}
export function next(): void {}
\`\`\`

> A word on the tests, which are many and which ran for a long time on a slow machine before anybody looked at them.
>
> And another.

Further words.

${'One more of many lines.\n\n'.repeat(40)}

\`\`\`diff
@@ -1,2 +1,2 @@
-const b = 2
+const b = 3
\`\`\`
`

let traps = 0

describe.skipIf(found.path === undefined)(`Markdown on the page, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
  })
  afterAll(async () => {
    await world?.stop()
  })

  const colourOf = (page: Page, selector: string): Promise<string> =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).color)

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('is drawn at %i pixels, %s', async (width, colorScheme) => {
    const { page } = world
    const ann = await world.agent('Ann', { channels: ['#review'] })
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const { id } = await ann.messages.send('#review', review)
    await world.show('talk', '#review')
    const row = page.locator(`.message[data-message="${id}"]`)
    const unfold = row.getByRole('button', { name: /^Show all/ })
    // Folded at the end of a block: the whole code, and nothing of what follows it.
    await unfold.waitFor()
    expect(await row.locator('pre').first().textContent()).toBe(`${wideLine}\nexport function next(): void {}`)
    const drawn = await row.locator('.text').evaluate((element) => element.clientHeight)
    expect(drawn).toBeLessThan(2 * (await page.locator('.messages').evaluate((element) => element.clientHeight)))
    await unfold.click()
    await row.getByRole('heading', { name: 'Review' }).waitFor()
    await row.getByRole('img', { name: 'to do' }).waitFor()
    expect(await row.getByRole('link', { name: 'the change (git.example)' }).getAttribute('rel')).toContain(
      'noreferrer',
    )
    await row.getByRole('link', { name: 'https://ci.example/run/991', exact: true }).waitFor()
    // An address outside the web is said, not linked.
    await row.locator('code', { hasText: 'src/parser.ts#L31' }).waitFor()
    expect(await row.getByRole('link', { name: /parser/ }).count()).toBe(0)
    const code = row.locator('pre').first()
    await code.locator('.hljs-keyword', { hasText: 'export' }).waitFor()
    expect(await code.textContent()).toBe(`${wideLine}\nexport function next(): void {}`)
    const lines = await code.locator('code').evaluate((e) => Math.round(e.getBoundingClientRect().height / 19))
    expect([lines, await code.evaluate((e) => e.scrollWidth > e.clientWidth)]).toEqual([2, true])
    expect(await colourOf(page, '.diff-added')).not.toBe(await colourOf(page, '.diff-removed'))
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await row.getByRole('button', { name: 'Copy' }).first().click()
    await row.getByText('Copied').waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      `${wideLine}\nexport function next(): void {}`,
    )
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  it('is plain in lists', async () => {
    const { page } = world
    const ann = await world.agent('Ann')
    await page.setViewportSize({ width: 1280, height: 860 })
    await ann.messages.send('#general', '**Done**: see [it](https://a.example), `x`\n- one')
    await world.show('now')
    await until(() => page.locator('.latest-item').getByText('Done: see it, x one', { exact: true }).isVisible())
  })

  it.each(Object.entries(hostileMarkdown))('%s is only text, and drawn', async (name, text) => {
    const { page } = world
    // Each in a channel of its own: what is measured is one message.
    const channel = `#trap-${++traps}`
    const eve = await world.agent('Eve', { channels: [channel] })
    const { id } = await eve.messages.send(channel, text)
    const { workMs, devtools } = await workMeter(page)
    await world.show('actions')
    const before = await workMs()
    await world.show('talk', channel, id)
    await page.locator(`.message.is-marked[data-message="${id}"]`).waitFor()
    say(`${name}: drawn in ${Math.round((await workMs()) - before)} ms of work`)
    const unfold = page.locator('.message.is-marked').getByRole('button', { name: /^Show all/ })
    if ((await unfold.count()) > 0) await unfold.click()
    await page.locator('.message.is-marked').hover()
    const strangers = '#page :is(script, iframe, img, form[action], a[href^="javascript" i], a[href^="data" i])'
    expect(await page.locator(strangers).count()).toBe(0)
    expect(await page.evaluate(() => (globalThis as { caught?: unknown }).caught)).toBeUndefined()
    expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false)
    await devtools.detach()
  })

  it('finds the colours of code in a thread of its own, also of code whose grammar takes long', async () => {
    const { page } = world
    const eve = await world.agent('Eve', { channels: ['#colours'] })
    const slow = 'a\n'.repeat(4_500)
    const { id } = await eve.messages.send('#colours', `\`\`\`cpp\n${slow}\`\`\`\n\n\`\`\`ts\nconst after = 1\n\`\`\``)
    await world.show('talk', '#colours', id)
    const row = page.locator(`.message[data-message="${id}"]`)
    const unfold = row.getByRole('button', { name: /^Show all/ })
    if ((await unfold.count()) > 0) await unfold.click()
    await row.locator('.hljs-keyword', { hasText: 'const' }).waitFor()
    expect(await row.locator('pre').first().textContent()).toBe(slow.trimEnd())
    // One took too long and was ended: the browser says so a moment after the next one has answered.
    await until(() => page.workers().length === 1)
    expect(page.workers().map((worker) => worker.url())).toEqual([expect.stringContaining('colours-thread')])
  })

  it('says where a link leads that pretends to lead elsewhere', async () => {
    const { page } = world
    const eve = await world.agent('Eve', { channels: ['#trap'] })
    const { id } = await eve.messages.send('#trap', hostileMarkdown['a link that lies'] ?? '')
    await world.show('talk', '#trap', id)
    const links = page.locator(`.message[data-message="${id}"] .text a`)
    expect(await links.allTextContents()).toEqual([
      'https://good.example (evil.example)',
      'good.example (evil.example)',
    ])
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
