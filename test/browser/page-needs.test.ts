// The list of needs: each with its text, answered in its row, and there until it is answered, not only until it is seen.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'
import { dialog, harnesses } from './scenes.ts'

describe.skipIf(found.path === undefined)(`what needs the person, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start({ harnesses })
  })
  afterAll(async () => {
    await world?.stop()
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('answers a question in its row at %i pixels, %s', async (width, colorScheme) => {
    const { page, me } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const ann = await world.agent('Ann')
    await ann.messages.send(me, 'May I drop `old_table`?', { kind: 'question' })
    await world.show('now')
    const row = page.locator('.need', { hasText: 'May I drop old_table?' })
    await row.getByText('asks').waitFor()
    expect(await page.title()).toMatch(/^\(1\) /)
    // Seen in Talk, it still waits; and it does after a reload.
    await row.getByRole('link', { name: 'Open', exact: true }).click()
    await page.locator('.message.is-marked').waitFor()
    await until(
      async () => (await ann.client.call('agent.list', {})).agents.find(({ name }) => name === me)?.unread === 0,
    )
    await world.show('now')
    await page.reload()
    await row.getByRole('button', { name: 'Reply' }).click()
    const field = row.getByLabel('Reply to Ann')
    await field.fill('Yes,')
    await field.press('Shift+Enter')
    await field.pressSequentially('with a backup.')
    await page.reload()
    expect(await field.inputValue()).toBe('Yes,\nwith a backup.')
    await field.press('Enter')
    await page.mouse.move(0, 0)
    await row.waitFor({ state: 'detached' })
    const { messages } = await ann.client.call('inbox.take', {})
    expect(messages).toMatchObject([{ from: me, body: 'Yes,\nwith a backup.', replyTo: expect.stringMatching(/^m_/) }])
    await until(async () => !(await page.title()).startsWith('('))
  })

  it('lists a mention and what was said to the person alone, and no report', async () => {
    const { page, me } = world
    const bob = await world.agent('Bob', { channels: ['#build'] })
    await bob.messages.send(me, 'All done.', { kind: 'status' })
    await bob.messages.send('#build', `not-@${me} and @${me}x`)
    await bob.messages.send('#build', `@${me}: the build is red.`)
    await bob.messages.send(me, 'Have a look, please.', { kind: 'directive' })
    await world.show('now')
    await page.locator('.need', { hasText: 'Have a look, please.' }).waitFor()
    const rows = page.locator('.need')
    await page.locator('.need', { hasText: 'the build is red' }).getByText('in #build').waitFor()
    expect(await rows.count()).toBe(2)
    await rows.first().getByRole('button', { name: 'Snooze 1 h' }).click()
    await page.mouse.move(0, 0)
    await page.getByText('1 snoozed').waitFor()
    await rows.first().getByRole('button', { name: 'Dismiss' }).click()
    await page.mouse.move(0, 0)
    await page.getByText('Nobody is blocked').waitFor()
    await page.reload()
    await page.getByText('1 snoozed').waitFor()
    expect(await rows.count()).toBe(0)
    // Another browser has the snoozed one still, and not the one that was dismissed, although nothing was kept there.
    const other = await (await world.browser.newContext()).newPage()
    await other.goto(await world.link())
    await other.locator('.need').first().waitFor()
    expect(await other.locator('.need').count()).toBe(1)
    await other.locator('.need').getByRole('button', { name: 'Dismiss' }).click()
    await other.mouse.move(0, 0)
    await page.getByText('1 snoozed').waitFor({ state: 'detached' })
    await other.context().close()
  })

  it('shows the dialog of a blocked worker, and the last screen of one that failed', async () => {
    const { page } = world
    const ann = await world.agent('Ann')
    const spawn = (name: string, cli: string, script: string) =>
      ann.client.call('worker.spawn', { name, cli, cwd: '/', command: [process.execPath, '-e', script] })
    await spawn('Asker', 'asking', dialog)
    const asker = page.locator('.need', { hasText: 'Asker' })
    await asker.locator('pre', { hasText: 'May I? Press y.' }).waitFor()
    await spawn('Faller', 'plain', `console.log('no such module'); setTimeout(() => process.exit(3), 1500)`)
    const faller = page.locator('.need', { hasText: 'Faller' })
    await faller.locator('pre', { hasText: 'no such module' }).waitFor()
    expect(await page.locator('.need').first().textContent()).toContain('Asker')
    await asker.getByRole('link', { name: 'Answer in its terminal' }).click()
    await page.locator('.xterm-rows').getByText('May I? Press y.').waitFor()
    // Whoever comes to answer can type at once.
    await page.locator('.terminal-view.is-typing').waitFor()
    await page.keyboard.press('y')
    await world.show('now')
    await asker.waitFor({ state: 'detached' })
    await faller.getByRole('button', { name: 'Dismiss' }).click()
    await page.mouse.move(0, 0)
    await faller.waitFor({ state: 'detached' })
    await ann.client.call('worker.release', { name: 'Asker' })
  })

  it('moves no row under the pointer, and is worked by keys alone', async () => {
    const { page, me } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    const [cid, dan] = [await world.agent('Cid'), await world.agent('Dan')]
    await cid.messages.send(me, 'First?', { kind: 'question' })
    await dan.messages.send(me, 'Second?', { kind: 'question' })
    await world.show('now')
    const second = page.locator('.need', { hasText: 'Second?' })
    await second.waitFor()
    await second.hover()
    const before = await second.boundingBox()
    // Answered elsewhere meanwhile: the row above stays until the pointer has left.
    const elsewhere = await world.agent(me, { type: 'human' })
    await elsewhere.messages.send('Cid', 'From elsewhere.')
    await page.locator('.need.is-over', { hasText: 'First?' }).waitFor()
    expect((await second.boundingBox())?.y).toBe(before?.y)
    await page.mouse.move(0, 0)
    await page.locator('.need', { hasText: 'First?' }).waitFor({ state: 'detached' })
    await page.locator('.view-now').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('r')
    await page.keyboard.type('By keys.')
    await page.keyboard.press('Enter')
    await second.waitFor({ state: 'detached' })
    expect((await dan.client.call('inbox.peek', {})).messages.map(({ body }) => body)).toEqual(['By keys.'])
    await cid.messages.send(me, 'Third?', { kind: 'question' })
    await page.locator('.need', { hasText: 'Third?' }).waitFor()
    await page.locator('.view-now').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.locator('.message.is-marked', { hasText: 'Third?' }).waitFor()
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
