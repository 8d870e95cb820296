// The recorder: its first view, a stretch that is saved as a file, and a file that is opened in its place.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`the recorder, ${inChromium}`, () => {
  let world: PageWorld
  let dir = ''
  let saves = 0
  beforeAll(async () => {
    world = await PageWorld.start()
    dir = mkdtempSync(join(tmpdir(), 'recording-'))
    const [ann, bob] = [await world.agent('Ann'), await world.agent('Bob')]
    const asked = await ann.messages.send('Bob', 'Is the *secret* safe?', { kind: 'question' })
    await bob.client.call('inbox.take', {})
    await bob.messages.send('Ann', 'It is.', { replyTo: asked.id })
  })
  afterAll(async () => {
    await world?.stop()
    rmSync(dir, { recursive: true, force: true })
  })

  const types = async (): Promise<(string | null)[]> =>
    world.page.locator('.event').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-type')))

  async function save(): Promise<string> {
    const [file] = await Promise.all([
      world.page.waitForEvent('download'),
      world.page.getByRole('button', { name: /^Save \d+ events?$/ }).click(),
    ])
    const path = join(dir, `${++saves} ${file.suggestedFilename()}`)
    await file.saveAs(path)
    return path
  }

  it('leaves out the noise at first, and never the moment that an address names', async () => {
    const { page } = world
    await world.show('recorder')
    await page.locator('.event', { hasText: 'It is.' }).waitFor()
    expect(await types()).toContain('message.created')
    for (const type of ['delivery.read', 'session.event', 'channel.joined']) expect(await types()).not.toContain(type)
    // Words, and no raw names.
    expect(await page.locator('.event-type').allTextContents()).toContain('messages')
    await page.locator('.list-head').getByRole('button', { name: 'Show all' }).click()
    await page.locator('.event[data-type="delivery.read"]').first().waitFor()
    const seq = await page
      .locator('.event[data-type="session.event"], .event[data-type="channel.joined"]')
      .first()
      .getAttribute('data-seq')
    await page.getByLabel('Kinds of events').selectOption('')
    await page.locator('.event[data-type="delivery.read"]').first().waitFor({ state: 'detached' })
    await world.show('recorder', String(seq))
    await page.locator(`.event[data-seq="${seq}"][aria-current]`).waitFor()
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('saves a stretch and shows it from its file, at %i pixels, %s', async (width, colorScheme) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    await world.show('recorder')
    await page.getByLabel('Kinds of events').selectOption('*')
    await page.locator('.event[data-type="delivery.read"]').first().waitFor()
    const path = await save()
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(await types())
    expect(lines.join('\n')).toContain('*secret*')
    await page.getByLabel('A recording').setInputFiles(path)
    await page.getByRole('button', { name: 'Back to home' }).waitFor()
    await page.locator('.event[data-type="message.created"]', { hasText: 'Is the secret safe?' }).click()
    // The chain of causes is found in the file itself.
    await page.locator('.closely .chain').getByText('It is.').waitFor()
    // And drawn: a column for each of the two, an arrow for each message, and who has read it.
    const picture = page.locator('.chain-picture svg')
    expect(await picture.locator('.chain-name').allTextContents()).toEqual(['AnnAnn', 'BobBob'])
    expect(await picture.locator('.is-message .chain-arrow').count()).toBe(2)
    expect(await picture.locator('.is-read').count()).toBe(1)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.getByRole('button', { name: 'Back to home' }).click()
    await page.getByRole('button', { name: 'Back to home' }).waitFor({ state: 'detached' })
  })

  it('leaves out what was written, and shows, plays and saves only the stretch that was chosen', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('recorder')
    await page.locator('.event', { hasText: 'It is.' }).waitFor()
    await page.getByLabel('without what was written').check()
    expect(readFileSync(await save(), 'utf8')).not.toMatch(/secret|It is\./)
    await page.getByLabel('Kinds of events').selectOption('*')
    await page.locator('.event[data-type="delivery.read"]').first().waitFor()
    const marks = page.locator('.mark circle')
    const [from, to] = [await marks.first().boundingBox(), await marks.nth(1).boundingBox()]
    if (!from || !to) throw new Error('no marks')
    await page.mouse.move(from.x + 2, from.y + 2)
    await page.mouse.down()
    await page.mouse.move(to.x + 2, from.y + 2, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Save 2 events' }).waitFor()
    expect(await page.locator('.event').count()).toBe(2)
    await page.locator('.event[aria-current]').first().waitFor()
    await page.getByRole('button', { name: /^Play/ }).click()
    // It ends with the stretch, on its last event.
    await page.getByRole('button', { name: /^Play/ }).waitFor()
    await page.locator('.event:not(.is-ahead)').nth(1).waitFor()
    expect(await page.locator('.event').last().getAttribute('aria-current')).toBe('true')
    await page.locator('.list-head').getByRole('button', { name: 'Show all' }).click()
    await page.getByRole('button', { name: 'Save 2 events' }).waitFor({ state: 'detached' })
    await page.mouse.move(from.x + 2, from.y + 2)
    await page.mouse.down()
    await page.mouse.move(to.x + 2, from.y + 2, { steps: 4 })
    await page.mouse.up()
    await page.getByRole('button', { name: 'Save 2 events' }).waitFor()
    // A plain click chooses an event, and no stretch.
    await marks.first().click()
    await page.getByRole('button', { name: 'Save 2 events' }).waitFor({ state: 'detached' })
  })

  it.each([
    ['no lines', ''],
    ['no JSON', 'hello\n'],
    ['an event without its parts', '{"seq":1,"type":"message.created","fact":{}}\n'],
  ])('refuses a file with %s', async (_what, text) => {
    const { page } = world
    await world.show('recorder')
    const path = join(dir, `bad ${++saves}.jsonl`)
    writeFileSync(path, text)
    await page.getByLabel('A recording').setInputFiles(path)
    await page.getByText('This is not a recording').waitFor()
    expect(await page.getByRole('button', { name: 'Back to home' }).count()).toBe(0)
    await world.show('now')
  })

  it('shows a strange file as text alone', async () => {
    const { page } = world
    const trap = '<img src=x onerror=window.caught=1>[a](javascript:window.caught=1)'
    const message = { id: trap, seq: 7, ts: '2026-01-01T00:00:00Z', from: trap, to: trap, kind: trap, body: trap }
    const path = join(dir, 'trap.jsonl')
    const event = {
      seq: 7,
      ts: message.ts,
      by: trap,
      type: 'message.created',
      fact: { id: trap, conversation: trap },
      message,
    }
    writeFileSync(
      path,
      `${JSON.stringify(event)}\n${JSON.stringify({ ...event, seq: 8, type: trap, message: undefined })}\n`,
    )
    await world.show('recorder')
    await page.getByLabel('A recording').setInputFiles(path)
    await page.locator('.event[data-seq="7"]').click()
    await page.locator('.closely').getByText('window.caught').first().waitFor()
    await page.locator('.event[data-seq="8"]').click()
    expect(await page.evaluate(() => (globalThis as { caught?: unknown }).caught)).toBeUndefined()
    expect(await page.locator('#page :is(img, a[href^="javascript" i])').count()).toBe(0)
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
