// Every workspace on the page: a switcher, each with its own address, several tabs with several at once, and a link that opens one alone.

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { permissionChoices } from '../../packages/relay/tests/permission-choices.ts'
import { connectRelay } from '../../packages/sdk/src/index.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { complaintsOf, PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`every workspace, ${inChromium}`, () => {
  let world: PageWorld
  let second: Page
  let complaints: string[]
  let shopKey = ''
  beforeAll(async () => {
    world = await PageWorld.start()
    const { key } = await world.http.daemon.open('shop')
    shopKey = key as string
    for (const [name, its] of [
      ['home', world.http.key],
      ['shop', shopKey],
    ] as const) {
      const ann = await connectRelay({ name: `Ann-${name}`, key: its, url: world.http.url })
      await ann.messages.send('#general', `Said in ${name}.`)
      await ann.close()
    }
    second = await world.page.context().newPage()
    complaints = complaintsOf(second, world.http.url)
  })
  afterAll(async () => {
    await world?.stop()
  })

  it.each([1280, 390])('are chosen in the menu and by the palette, at %i pixels', async (width) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.goto(`${world.http.url}/#/talk/%23general`)
    await page.locator('.message', { hasText: 'Said in home.' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/w/home/')
    await page.getByLabel('Message', { exact: true }).fill('begun at home')
    await page.getByRole('combobox', { name: 'Workspace' }).focus()
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption('shop')
    await page.waitForURL('**/w/shop/**')
    await world.show('talk', '#general')
    await page.locator('.message', { hasText: 'Said in shop.' }).waitFor()
    expect(await page.locator('.message', { hasText: 'Said in home.' }).count()).toBe(0)
    // What was begun is in its own workspace.
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go or do' }).fill('workspace home')
    await page.getByRole('option', { name: 'Workspace home' }).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/w/home/**')
    await world.show('talk', '#general')
    await page.locator('.message', { hasText: 'Said in home.' }).waitFor()
    expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('begun at home')
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('are seen together, with what waits in each, at %i pixels, %s', async (width, colorScheme) => {
    const { page, me } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const asker = await connectRelay({ name: 'Asker', key: shopKey, url: world.http.url })
    const question = `May I close ${width}?`
    await asker.messages.send(me, question, { kind: 'question' })
    await page.goto(`${world.http.url}/w/home/#/now`)
    await page.getByRole('combobox', { name: 'Workspace' }).selectOption('All workspaces')
    const shop = page.getByRole('region', { name: 'shop' })
    await page.getByRole('region', { name: 'home' }).getByText('Nothing waits for you.').waitFor()
    const row = shop.locator('.need', { hasText: question })
    await row.getByText('asks').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await row.getByRole('link', { name: 'Open' }).click()
    await page.waitForURL('**/w/shop/**')
    await page.locator('.message.is-marked', { hasText: question }).waitFor()
    await asker.close()
  })

  it('show whatever the list of each has, the most urgent first, until it is answered or dismissed', async () => {
    const { page, me } = world
    const { workspace } = await world.http.daemon.open('shop')
    const asker = await connectRelay({ name: 'Asker', key: shopKey, url: world.http.url })
    await asker.messages.send('#general', `@${me}: the build is red.`)
    const asked = { source: 'test', agent: 'Asker', vendor: 'claude', tool: 'Bash', input: 'npm __publish__' }
    const over = workspace.approvals.open({ ...asked, choices: permissionChoices })
    await world.show('everywhere')
    const rows = page.getByRole('region', { name: 'shop' }).locator('.need')
    await rows.first().getByText('wants to run').waitFor()
    await rows.first().getByText('npm __publish__').waitFor()
    await rows.last().getByText('@human: the build is red.').waitFor()
    await rows.last().getByText('writes to you').waitFor()
    expect(await rows.count()).toBe(4)
    // In its own workspace, and in another browser: what is done with there is not here any more.
    const person = await connectRelay({ name: me, type: 'human', key: shopKey, url: world.http.url })
    await person.client.call('need.dismiss', { key: 'told:#general' })
    workspace.approvals.close('test', 'cancelled')
    await over
    await until(async () => (await rows.count()) === 2)
    await person.close()
    await asker.close()
  })

  it.each([1280, 390])(
    'that are in use stand on the page of another one, one click away, at %i pixels',
    async (width) => {
      const { page } = world
      await page.setViewportSize({ width, height: 860 })
      await world.http.daemon.open('empty')
      await page.goto(`${world.http.url}/w/empty/#/now`)
      await page.getByText('No agent has come yet').waitFor()
      const ann = await connectRelay({ name: 'Ann-shop', key: shopKey, url: world.http.url })
      const others = page.getByRole('region', { name: 'In other workspaces' })
      await page.getByText('No agent has come to empty yet').waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      expect(await others.getByRole('link', { name: /home/ }).count()).toBe(0)
      await others.getByRole('link', { name: /^shop.*Ann-shop/ }).click()
      await page.waitForURL('**/w/shop/**')
      await page
        .getByRole('link', { name: /Ann-shop/ })
        .first()
        .waitFor()
      await ann.close()
    },
  )
  it('have the rows, the counts and the buttons of their own view Now', async () => {
    const { page, me } = world
    const asker = await connectRelay({ name: 'Asker', key: shopKey, url: world.http.url })
    await asker.messages.send(me, 'May I tag it?', { kind: 'question' })
    const shop = page.getByRole('region', { name: 'shop' })
    const counts = /\d+ here, \d+ away/
    await page.setViewportSize({ width: 1280, height: 860 })
    await page.goto(`${world.http.url}/w/shop/#/now`)
    await page.locator('.need', { hasText: 'May I tag it?' }).waitFor()
    const own = await page.getByText(counts).textContent()
    await page.goto(`${world.http.url}/w/home/#/everywhere`)
    const row = shop.locator('.need', { hasText: 'May I tag it?' })
    await row.waitFor()
    expect(await shop.getByText(counts).textContent()).toBe(own)
    await shop.locator('.agent-row', { hasText: 'Asker' }).hover()
    const contract = shop
      .locator('.agent-row-item', { hasText: 'Asker' })
      .getByRole('link', { name: 'Give a contract' })
    expect(await contract.getAttribute('href')).toBe('/w/shop/#/runs?start=1&agent=Asker')
    await row.getByRole('button', { name: 'Reply' }).click()
    await row.getByRole('textbox').fill('Yes.')
    await page.keyboard.press('Enter')
    await until(async () => (await asker.client.call('inbox.peek', {})).messages.some(({ body }) => body === 'Yes.'))
    await page.mouse.move(0, 0)
    await row.waitFor({ state: 'detached' })
    await asker.messages.send(me, 'And the next?', { kind: 'question' })
    // Snoozed here is snoozed there.
    await shop.locator('.need', { hasText: 'And the next?' }).getByRole('button', { name: 'Snooze 1 h' }).click()
    await page.goto(`${world.http.url}/w/shop/#/now`)
    await page.getByText('1 snoozed').waitFor()
    await asker.close()
  })

  it('are followed by and by where they are many', async () => {
    const { page } = world
    const busy: Awaited<ReturnType<typeof connectRelay>>[] = []
    for (let n = 0; n < 22; n++) {
      const { key } = await world.http.daemon.open(`busy${n}`)
      busy.push(await connectRelay({ name: `Agent${n}`, key: key as string, url: world.http.url }))
    }
    await page.setViewportSize({ width: 1280, height: 860 })
    await page.goto(`${world.http.url}/w/home/#/now`)
    const link = page.getByRole('link', { name: /^All workspaces, \d+ more$/ })
    await link.waitFor()
    expect(await page.locator('.elsewhere-row').count()).toBe(8)
    await link.click()
    const more = page.getByRole('button', { name: /^Look at \d+ of \d+ more$/ })
    await more.waitFor()
    const shown = page.locator('.everywhere .agent-row')
    await until(async () => (await shown.count()) >= 20)
    await more.click()
    await until(async () => (await shown.count()) >= busy.length)
    expect(await more.count()).toBe(0)
    for (const each of busy) await each.close()
  })

  it('are at the address without a name', async () => {
    const { page } = world
    await page.goto(`${world.http.url}/w/`)
    await page.getByRole('heading', { name: 'All workspaces' }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/everywhere')
  })

  it('stand in several tabs at once', async () => {
    const { page } = world
    await page.goto(`${world.http.url}/w/home/#/talk/%23general`)
    await second.goto(`${world.http.url}/w/shop/#/talk/%23general`)
    await page.locator('.message', { hasText: 'Said in home.' }).waitFor()
    await second.locator('.message', { hasText: 'Said in shop.' }).waitFor()
    await second.getByLabel('Message', { exact: true }).fill('From the second tab.')
    await second.keyboard.press('Enter')
    await second.locator('.message', { hasText: 'From the second tab.' }).waitFor()
    expect(await page.getByText('From the second tab.').count()).toBe(0)
    await second.goto(`${world.http.url}/w/nowhere/`)
    await second.getByText(/This login opens .*\/w\/home\/, and not nowhere\./).waitFor()
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
    // The workspace that is not there is refused, and the browser says so.
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([])
  })
})
