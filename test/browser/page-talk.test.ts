// Talk: its first conversation, writing without joining first, names that complete themselves, drafts that last, and pictures that are refused.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { complaintsOf, PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`talking on the page, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
  })
  afterAll(async () => {
    await world?.stop()
  })

  it('opens on the newest conversation that is unread, and on the list on a narrow screen', async () => {
    const { page, me } = world
    const [ann, bob] = [await world.agent('Ann'), await world.agent('Bob')]
    await ann.messages.send(me, 'Earlier.')
    await bob.messages.send(me, 'Later.')
    await page.setViewportSize({ width: 390, height: 860 })
    await world.show('talk')
    await page.locator('.place', { hasText: 'Later.' }).waitFor()
    expect(await page.locator('.message').count()).toBe(0)
    await world.show('now')
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('talk')
    await page.locator('.message', { hasText: 'Later.' }).waitFor()
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('writes into a channel without joining it first, at %i pixels, %s', async (width, colorScheme) => {
    const { page, me } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const channel = `#build-${width}`
    const cleo = await world.agent('Cleo', { channels: [channel] })
    await cleo.messages.send(channel, 'Anybody?')
    await world.show('talk', channel)
    const field = page.getByLabel('Message', { exact: true })
    await field.fill('Yes, ')
    await field.pressSequentially('@Cl')
    await page.getByRole('option', { name: 'Cleo' }).waitFor()
    await field.press('Enter')
    await until(async () => (await field.inputValue()) === 'Yes, @Cleo ')
    // What was begun is there after a reload.
    await page.reload()
    await until(async () => (await field.inputValue()) === 'Yes, @Cleo ')
    await field.press('End')
    await field.pressSequentially('me.')
    await field.press('Enter')
    const mine = page.locator('.message', { hasText: 'Yes, @Cleo me.' })
    await mine.waitFor()
    const { messages } = await cleo.client.call('inbox.peek', { channel })
    expect(messages).toMatchObject([{ from: me, channel, body: 'Yes, @Cleo me.' }])
    // Receipts are for whoever looks.
    const opacity = () => mine.locator('.fate').evaluate((element) => getComputedStyle(element).opacity)
    await page.mouse.move(0, 0)
    await until(async () => (await opacity()) === '0')
    await mine.hover()
    await until(async () => (await opacity()) === '1')
  })

  it('waits for the answer of one agent, and is shown as waiting', async () => {
    const { page, me } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    const dora = await world.agent('Dora')
    await world.show('talk', `@${[me, 'Dora'].sort().join(',')}`)
    await page.getByLabel('await reply').check()
    await page.getByLabel('Message', { exact: true }).fill('Which one?')
    await page.keyboard.press('Enter')
    await page.getByText('Waiting for the answer of Dora').waitFor()
    const { messages } = await dora.client.call('inbox.take', {})
    expect(messages).toMatchObject([{ from: me, body: 'Which one?' }])
    const { agents } = await dora.client.call('agent.list', {})
    expect(agents.find(({ name }) => name === me)?.waitingFor?.agent).toBe('Dora')
    await dora.messages.send(me, 'The first.', { replyTo: messages[0]?.id })
    await page.locator('.message', { hasText: 'The first.' }).waitFor()
    await page.getByText('Waiting for the answer').waitFor({ state: 'detached' })
  })

  it('says who of the people has seen it, and what a hook holds', async () => {
    const { page, me } = world
    const lou = await world.agent('Lou', { type: 'human', channels: ['#seen'] })
    const eve = await world.agent('Eve', { channels: ['#seen'] })
    const { id } = await eve.messages.send('#seen', 'Look at this.')
    await lou.client.call('inbox.read', { messages: [id] })
    await eve.messages.send(me, 'And at this.')
    await world.show('talk', '#seen', id)
    const row = page.locator('.message.is-marked')
    await row.hover()
    await row.locator('.fate').click()
    await row.getByText('Seen by Lou').waitFor()
    // To a person alone: seen, not read.
    const { id: alone } = await eve.messages.send('Lou', 'Only you.')
    await lou.client.call('inbox.read', { messages: [alone] })
    await world.show('talk', '@Eve,Lou', alone)
    await page.locator('.message.is-marked .fate', { hasText: /^seen$/ }).waitFor()
    // A hook has taken it, and has not shown it yet.
    const hooked = await world.agent('Hooked')
    const { id: taken } = await eve.messages.send('Hooked', 'By a hook.')
    await hooked.client.call('inbox.take', { route: 'hook' })
    await world.show('talk', '@Eve,Hooked', taken)
    await row.hover()
    await row.locator('.fate').click()
    await until(() => row.getByText('held', { exact: true }).isVisible())
  })

  it('marks all of a long conversation as read, and nothing of another one', async () => {
    const { page, me } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('now')
    const fay = await world.agent('Fay')
    // More than one page of them.
    const count = 600
    for (let n = 0; n < count; n += 100)
      await Promise.all(Array.from({ length: 100 }, (_, i) => fay.messages.send(me, `part ${n + i}`)))
    const gus = await world.agent('Gus')
    await gus.messages.send(me, 'And mine?')
    await world.show('talk', `@${['Fay', me].sort().join(',')}`)
    await page.getByRole('button', { name: /^Mark \d+ read$/ }).click()
    const person = await world.agent(me, { type: 'human' })
    const unread = async () => {
      const { conversations } = await person.client.call('conversation.list', {})
      return ['Fay', 'Gus'].map((from) => conversations.find(({ name }) => name.includes(from))?.unread)
    }
    await until(async () => (await unread())[0] === 0)
    expect(await unread()).toEqual([0, 1])
    await page.getByRole('button', { name: /^Mark \d+ read$/ }).waitFor({ state: 'detached' })
  })

  it('works where the browser refuses its storage, and keeps a draft only while it is open', async () => {
    const context = await world.browser.newContext({ viewport: { width: 1280, height: 860 } })
    const page = await context.newPage()
    const complaints = complaintsOf(page, world.http.url)
    await page.addInitScript(() => {
      const refuse = () => {
        throw new DOMException('The operation is insecure.', 'SecurityError')
      }
      Object.defineProperty(window, 'localStorage', { get: refuse })
    })
    await page.goto(await world.link())
    await page.getByText('you are').waitFor()
    const go = (hash: string) => page.evaluate((to) => location.assign(to), hash)
    await go('#/talk/%23general')
    const field = page.getByLabel('Message', { exact: true })
    await field.fill('begun here')
    await go('#/now')
    await page.locator('.view-now').waitFor()
    await go('#/talk/%23general')
    await until(async () => (await field.inputValue()) === 'begun here')
    await field.press('Enter')
    await page.locator('.message', { hasText: 'begun here' }).waitFor()
    await field.fill('lost')
    await page.reload()
    await field.waitFor()
    expect(await field.inputValue()).toBe('')
    expect(complaints).toEqual([])
    await context.close()
  })

  it('refuses a picture, and says what to do instead', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('talk', '#general')
    const field = page.getByLabel('Message', { exact: true })
    await field.evaluate((element) => {
      const data = new DataTransfer()
      data.items.add(new File([new Uint8Array([137, 80, 78, 71])], 'shot.png', { type: 'image/png' }))
      element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }))
    })
    await page.getByText('a picture cannot be sent').waitFor()
    expect(await field.inputValue()).toBe('')
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
