// The page for a person who is busy elsewhere: notifications, rows that stay in place, the list afterwards, and an expired link.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../packages/relay/src/machine/clock.ts'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { complaintsOf, PageWorld } from './page-world.ts'
import { dialog, harnesses } from './scenes.ts'

interface Shown {
  shown: { title: string; body: string; click(): void }[]
}

/** The browser's own notifications, kept as they are shown: a test cannot look at the desktop. */
async function keepNotifications(page: Page): Promise<void> {
  await page.context().grantPermissions(['notifications'])
  await page.addInitScript(() => {
    const kept: Shown['shown'] = []
    const Real = Notification
    const Kept = class extends Real {
      constructor(title: string, options: NotificationOptions) {
        super(title, options)
        const click = (): void => void this.dispatchEvent(new Event('click'))
        this.addEventListener('show', () => kept.push({ title, body: options.body ?? '', click }))
      }
    }
    Object.assign(globalThis, { shown: kept, Notification: Kept })
  })
  await page.reload()
}

const shownOn = (page: Page): Promise<string[]> =>
  page.evaluate(() => (globalThis as unknown as Shown).shown.map(({ title, body }) => `${title}: ${body}`))

/** Another window comes to the front, as for a person who works in it; answers the way back. */
async function lookAway(page: Page): Promise<() => Promise<void>> {
  const devtools = await page.context().newCDPSession(page)
  // The test's driver gives the keyboard to every page at once, which no desktop does.
  await devtools.send('Emulation.setFocusEmulationEnabled', { enabled: false })
  const other = await page.context().newPage()
  await until(() => page.evaluate(() => !document.hasFocus()))
  return async () => {
    await other.close()
    await page.bringToFront()
    await until(() => page.evaluate(() => document.hasFocus()))
  }
}

describe.skipIf(found.path === undefined)(`the page beside other work, ${inChromium}`, () => {
  let world: PageWorld
  let aheadMs = 0
  beforeAll(async () => {
    const clock = { ...systemClock, now: () => Date.now() + aheadMs, steady: () => performance.now() + aheadMs }
    world = await PageWorld.start({ harnesses, clock })
  })
  afterAll(async () => {
    await world?.stop()
  })

  it('notifies whoever does not look of a message and of a blocked worker, and counts them in the title', async () => {
    const { page, me } = world
    const ann = await world.agent('Ann')
    await keepNotifications(page)
    await page.getByText('you are').waitFor()
    await ann.messages.send(me, 'Seen already.')
    await page.locator('.need', { hasText: 'Seen already.' }).waitFor()
    const lookBack = await lookAway(page)
    await ann.messages.send('#general', 'Not for you alone.')
    const { id } = await ann.messages.send(me, 'May I delete it?', { kind: 'question' })
    const isRead = async () =>
      (await ann.client.call('message.receipts', { message: id })).receipts[0]?.readAt !== undefined
    await until(async () => (await shownOn(page)).length > 0)
    await ann.client.call('worker.spawn', {
      name: 'Asker',
      cli: 'asking',
      cwd: '/',
      command: [process.execPath, '-e', dialog],
    })
    await until(async () => (await shownOn(page)).length > 1)
    expect(await shownOn(page)).toEqual(['Ann [question]: May I delete it?', 'Asker is blocked: a dialog is open'])
    await until(async () => (await page.title()).startsWith('(3) '))
    expect(await page.locator('.need').first().textContent()).toContain('Asker')
    await page.evaluate(() => (globalThis as unknown as Shown).shown[1]?.click())
    await page.locator('.xterm-rows').getByText('May I? Press y.').waitFor()
    await world.types('Asker', 'y')
    await until(async () => (await page.title()).startsWith('(2) '))
    await page.evaluate(() => (globalThis as unknown as Shown).shown[0]?.click())
    await page.locator('.message', { hasText: 'May I delete it?' }).waitFor()
    // It is on the screen, but nobody looks: read only when somebody does.
    expect(await isRead()).toBe(false)
    await lookBack()
    await until(isRead)
    // Seen is not answered.
    expect(await page.title()).toMatch(/^\(2\) /)
    await page.getByLabel('Message', { exact: true }).fill('Yes.')
    await page.getByLabel('Message', { exact: true }).press('Enter')
    await until(async () => !(await page.title()).startsWith('('))
    await ann.client.call('worker.release', { name: 'Asker' })
  })

  it('keeps the place in the conversation while an answer is written in a thread', async () => {
    const { page } = world
    const bob = await world.agent('Bob')
    for (let i = 0; i < 80; i++) await bob.messages.send('#general', `line ${i}`, i === 3 ? { thread: 'aside' } : {})
    await world.show('talk', '#general')
    const list = page.getByRole('log', { name: 'Messages', exact: true })
    await list.getByText('line 79').waitFor()
    await page.evaluate(() => {
      location.hash += '?thread=aside'
    })
    const thread = page.getByRole('complementary', { name: 'Thread' })
    await thread.getByText('line 3').waitFor()
    await list.evaluate((element) => element.scrollTo(0, 0))
    await list.getByText('line 3', { exact: true }).waitFor()
    await thread.getByRole('textbox').fill('beside the point')
    await thread.getByRole('textbox').press('Enter')
    await thread.locator('.message', { hasText: 'beside the point' }).waitFor()
    await page.getByRole('button', { name: '1 new' }).waitFor()
    expect(await list.evaluate(({ scrollTop }) => scrollTop)).toBe(0)
    // What is written in the conversation itself is shown where it stands: at the end.
    const field = page.locator('.chat').getByLabel('Message', { exact: true })
    await field.fill('to the point')
    await field.press('Enter')
    await list.getByText('to the point').waitFor()
    await until(() => list.evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight < 2))
  })

  it('lists each call once with its outcome, and the newest of many', async () => {
    const { page } = world
    const provider = await world.agent('Counter')
    const held: (() => void)[] = []
    await provider.actions.register({
      name: 'count.one',
      description: 'Counts.',
      inputSchema: z.object({ n: z.number() }),
      handler: ({ n }) => {
        if (n === 1_001) return new Promise((resolve) => held.push(() => resolve({})))
        if (n === 1_000) throw new Error('that is too many')
        return { n }
      },
    })
    const caller = await world.agent('Caller')
    const call = (n: number) => caller.actions.invoke('count.one', { n })
    for (let n = 0; n < 600; n += 50) await Promise.all(Array.from({ length: 50 }, (_, i) => call(n + i)))
    await call(1_000).catch(() => {})
    await world.show('actions', 'count.one')
    const rows = page.locator('.audit tbody tr')
    await rows.first().getByText('that is too many').waitFor()
    await rows.nth(199).waitFor()
    expect(await rows.count()).toBe(200)
    expect(await rows.nth(1).textContent()).toMatch(/Callerdone[\d,]+ ms/)
    const late = call(1_001)
    await rows.first().getByText('under way').waitFor()
    await until(async () => held.length > 0)
    held[0]?.()
    await late
    await rows.first().getByText('done').waitFor()
    expect(await rows.nth(1).textContent()).toContain('that is too many')
  })

  it('says that a link lay too long, and lets a login end by its time', async () => {
    const page = await world.browser.newPage()
    page.setDefaultTimeout(guardMs)
    const complaints = complaintsOf(page, world.http.url)
    const link = await world.link()
    aheadMs += 5 * 60_000
    await page.goto(link)
    await page.getByText('This code was used or is too old').waitFor()
    const code = new URL(await world.link()).searchParams.get('code') ?? ''
    await page.getByLabel('Code').fill(code.toLowerCase())
    await page.getByRole('button', { name: 'Come in' }).click()
    await page.getByText('you are').waitFor()
    aheadMs += 31 * 24 * 3_600_000
    await page.reload()
    await page.getByText('This page opens with a code').waitFor()
    // A refused login is an error to the browser's console, and nothing else was one.
    expect(complaints.filter((each) => !each.includes('401'))).toEqual([])
    await page.context().close()
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
