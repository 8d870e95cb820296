// Retry on the page: a worker's task again from its row, its view and the palette, and a run's contract again, each as it was given.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainHarness } from '../../packages/relay/src/supervisor/harness/plain.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`retry, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    const going = { ...plainHarness, name: 'going', canContinue: () => true }
    world = await PageWorld.start({
      harnesses: [plainHarness, { ...plainHarness, name: 'claude', program: 'cat' }, going],
    })
  })
  afterAll(async () => {
    await world?.stop()
  })

  const ann = async () => (await world.agent('Ann')).client
  const workersOf = async (name: string) =>
    (await (await ann()).call('worker.list', { all: true })).workers.filter((worker) => worker.name === name)
  /** Of that name there have been so many, and the last one runs. */
  const isRunning = (name: string, count: number) =>
    until(async () => {
      const all = await workersOf(name)
      return all.length === count && all[0]?.status !== 'exited'
    })
  const release = async (name: string) => (await ann()).call('worker.release', { name })
  const runs = async () => (await (await ann()).call('run.list', { whole: true })).runs

  it('gives a worker its task again: from its row, its view and the palette', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    const command = ['sleep', '1000']
    const client = await ann()
    await client.call('worker.spawn', { name: 'Painter', cli: 'plain', cwd: '/', command, task: 'Paint the fence' })
    await client.call('worker.spawn', { name: 'Loafer', cli: 'plain', cwd: '/', command })
    await world.show('now')
    const row = page.locator('.agent-row-item', { hasText: 'Painter' })
    await row.hover()
    await row.getByRole('button', { name: 'Pause' }).waitFor()
    expect(await row.getByRole('button', { name: 'Retry' }).count()).toBe(0)
    for (const name of ['Painter', 'Loafer']) await release(name)
    await page.getByRole('button', { name: '2 finished or away' }).click()
    await row.hover()
    await row.getByRole('button', { name: 'Retry' }).click()
    await isRunning('Painter', 2)
    // One that was given no task has nothing to do again.
    const idle = page.locator('.agent-row-item', { hasText: 'Loafer' })
    await idle.hover()
    await idle.getByRole('button', { name: 'Archive' }).waitFor()
    expect(await idle.getByRole('button', { name: 'Retry' }).count()).toBe(0)
    await release('Painter')
    await world.show('agent', 'Painter')
    await page.locator('.program').getByRole('button', { name: 'Retry' }).click()
    await isRunning('Painter', 3)
    await release('Painter')
    await page.locator('.program').getByRole('button', { name: 'Retry' }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Go or do' })
    await field.fill('retry painter')
    await page.getByRole('option', { name: /^Retry Painter/ }).waitFor()
    await field.press('Enter')
    await isRunning('Painter', 4)
    const all = await workersOf('Painter')
    // It works for who hired it, not for the person who asked.
    expect(all.map(({ parent, task }) => [parent, task])).toEqual(all.map(() => ['Ann', 'Paint the fence']))
    expect(all.map(({ again }) => again)).toEqual([...all.slice(1).map(({ id }) => id), undefined])
    await release('Painter')
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('gives a contract again at %i pixels, %s, and shows after which run', async (width, colorScheme) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const client = await ann()
    const contract = `# Count the sheep\nall of them, at ${width}`
    const first = await client.call('run.start', { contract, harness: 'external', agent: 'Ann' })
    await world.show('runs', first.id)
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
    await client.call('run.stop', { run: first.id })
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.locator('.facts').getByRole('link', { name: first.id }).waitFor()
    const [second] = await runs()
    expect(second).toMatchObject({ contract, again: first.id, parent: 'Ann', agent: 'Ann', status: 'running' })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await client.call('run.stop', { run: second?.id as string })
    await page.getByRole('button', { name: 'Retry' }).waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Go or do' })
    await field.fill(`retry ${second?.id}`)
    await page.getByRole('option', { name: /^Retry Count the sheep/ }).waitFor()
    await field.press('Enter')
    await page
      .locator('.facts')
      .getByRole('link', { name: second?.id as string })
      .waitFor()
    const [third] = await runs()
    expect(third).toMatchObject({ contract, again: second?.id, status: 'running' })
    await client.call('run.stop', { run: third?.id as string })
  })

  it('gives the contract again where the worker carried out a run', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    const client = await ann()
    const first = await client.call('run.start', { contract: 'Sweep the yard', harness: 'claude', cwd: '/' })
    await isRunning(first.agent, 1)
    await client.call('run.stop', { run: first.id })
    await until(async () => (await workersOf(first.agent))[0]?.status === 'exited')
    // Its task is the contract, and not how it was told of it.
    expect((await workersOf(first.agent))[0]?.task).toBe('Sweep the yard')
    await world.show('agent', first.agent)
    await page.locator('.program').getByRole('button', { name: 'Retry' }).click()
    await page.locator('.facts').getByRole('link', { name: first.id }).waitFor()
    const [second] = await runs()
    expect(second).toMatchObject({ contract: 'Sweep the yard', harness: 'claude', again: first.id, parent: 'Ann' })
    expect(second?.agent).not.toBe(first.agent)
    await isRunning(second?.agent as string, 1)
    await client.call('run.stop', { run: second?.id as string })
  })

  it.each([
    [1280, 'light', 'Continue'],
    [390, 'dark', 'Retry'],
  ] as const)('at %i pixels, %s, what ended unasked has its way on where it is listed: %s', async (...row) => {
    const [width, colorScheme, button] = row
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    const name = `Digger${width}`
    const cwd = mkdtempSync(join(tmpdir(), 'page-retry-'))
    // It fails once.
    const command = ['sh', '-c', 'test -e again && exec sleep 1000; touch again; echo no spade; sleep 1.5; exit 3']
    await (await ann()).call('worker.spawn', { name, cli: 'going', cwd, command, task: 'Dig' })
    await world.show('now')
    const need = page.locator('.need', { hasText: name })
    await need.getByText('has failed').waitFor()
    await need.getByText('Dig', { exact: true }).waitFor()
    expect(await need.getByText('Its conversation is lost').count()).toBe(0)
    // Its agent is not among those that are done.
    await page.locator('.agent-row-item', { hasText: name }).getByText('failed: its program ended').waitFor()
    const buttons = await need.locator('.need-tools').getByRole('button').allTextContents()
    expect(buttons).toEqual(['Continue', 'Retry', 'Snooze 1 h', 'Dismiss'])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await need.getByRole('button', { name: button }).click()
    await isRunning(name, 2)
    await page.mouse.move(0, 0)
    await need.waitFor({ state: 'detached' })
    await release(name)
    rmSync(cwd, { recursive: true })
  })

  it('says what is lost, without a button, where no program can go on with the conversation', async () => {
    const { page } = world
    const command = ['sh', '-c', 'sleep 1.5; exit 3']
    await (await ann()).call('worker.spawn', { name: 'Sower', cli: 'plain', cwd: '/', command, task: 'Sow' })
    await world.show('now')
    const need = page.locator('.need', { hasText: 'Sower' })
    await need
      .getByText('Its conversation is lost: the relay knows no way to have plain continue a conversation.')
      .waitFor()
    const buttons = await need.locator('.need-tools').getByRole('button').allTextContents()
    expect(buttons).toEqual(['Retry', 'Snooze 1 h', 'Dismiss'])
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
