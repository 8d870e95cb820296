// The palette: every place and action by its name, by keys alone; and the actions for an agent from its row.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acpAgent } from '../../packages/relay/tests/supervisor/worker-world.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`the palette, ${inChromium}`, () => {
  let world: PageWorld
  beforeAll(async () => {
    world = await PageWorld.start()
    const ann = await world.agent('Ann', { channels: ['#build'] })
    await ann.messages.send('#build', 'Hello.')
    for (const name of ['Sleeper', 'Dozer'])
      await ann.client.call('worker.spawn', { name, cli: 'plain', cwd: '/', command: ['sleep', '1000'], task: 'Rest' })
  })
  afterAll(async () => {
    await world?.stop()
  })

  it('interrupts a worker from its row only while the worker is in a turn, on a phone too', async () => {
    const { page } = world
    await page.setViewportSize({ width: 390, height: 860 })
    const ann = await world.agent('Ann')
    const command = [process.execPath, acpAgent, '--log', '/dev/null']
    await ann.client.call('worker.spawn', { name: 'Busy', cli: 'acp', cwd: '/', command, task: 'hang' })
    await until(async () => (await statusOf('Busy')) === 'busy')
    await world.show('agent', 'Busy')
    const button = page.getByRole('button', { name: 'Interrupt' })
    await button.waitFor()
    const box = await button.boundingBox()
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
    // A program that is stopped reads the cancellation only when it goes on.
    const { workers } = await ann.client.call('worker.list', {})
    const pid = workers.find(({ name }) => name === 'Busy')?.pid as number
    process.kill(pid, 'SIGSTOP')
    await button.click()
    await page.getByText('Its turn has not ended yet.').waitFor()
    process.kill(pid, 'SIGCONT')
    await until(async () => (await statusOf('Busy')) === 'idle')
    await button.waitFor({ state: 'detached' })
    await ann.client.call('message.send', { to: 'Busy', body: 'hang' })
    await button.click()
    await until(async () => (await statusOf('Busy')) === 'idle')
    await button.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Pause' }).waitFor()
  })

  const statusOf = async (name: string): Promise<string | undefined> => {
    const { workers } = await (await world.agent('Ann')).client.call('worker.list', { all: true })
    return workers.find((worker) => worker.name === name)?.status
  }

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('goes to places by their names at %i pixels, %s', async (width, colorScheme) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    await world.show('now')
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Go or do' })
    await field.waitFor()
    await page.getByRole('option', { name: 'Recorder' }).getByText('f', { exact: true }).waitFor()
    await field.fill('build talk')
    // What there is to talk about may still be on its way.
    await page.getByRole('option').waitFor()
    expect(await page.getByRole('option').allTextContents()).toEqual(['Talk: #build#build'])
    await field.press('Enter')
    await page.locator('.message', { hasText: 'Hello.' }).waitFor()
    await field.waitFor({ state: 'detached' })
    // Also while something is typed, and away with Escape.
    await page.getByLabel('Message', { exact: true }).focus()
    await page.keyboard.press('Control+k')
    await field.fill('no such thing')
    await page.getByText('Nothing has this name.').waitFor()
    await field.press('Escape')
    await field.waitFor({ state: 'detached' })
    expect(await page.getByLabel('Message', { exact: true }).evaluate((it) => it === document.activeElement)).toBe(true)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  it('pauses a worker at once, and asks once more before it releases one', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('now')
    await page.locator('.agent-row', { hasText: 'Sleeper' }).waitFor()
    const field = page.getByRole('combobox', { name: 'Go or do' })
    const call = async (words: string, enters: number): Promise<void> => {
      await page.keyboard.press('Control+k')
      await field.fill(words)
      await page.getByRole('option').first().waitFor()
      for (let i = 0; i < enters; i++) await field.press('Enter')
    }
    await call('pause sleeper', 1)
    await until(async () => (await statusOf('Sleeper')) === 'paused')
    await field.waitFor({ state: 'detached' })
    await call('release sleeper', 1)
    await page.getByText('Release Sleeper: really? Enter again').waitFor()
    expect(await statusOf('Sleeper')).toBe('paused')
    await field.press('Enter')
    await until(async () => (await statusOf('Sleeper')) === 'exited')
    await field.waitFor({ state: 'detached' })
  })

  it('acts on an agent from its row, and starts a run again with its contract', async () => {
    const { page } = world
    await world.show('now')
    const item = page.locator('.agent-row-item', { hasText: 'Dozer' })
    const before = await item.boundingBox()
    await item.hover()
    await item.getByRole('button', { name: 'Pause' }).click()
    await until(async () => (await statusOf('Dozer')) === 'paused')
    await item.getByRole('button', { name: 'Release' }).click()
    await item.getByRole('button', { name: 'Really release?' }).waitFor()
    expect(await item.boundingBox()).toEqual(before)
    await page.locator('.agent-row-item', { hasText: 'Ann' }).hover()
    await page.locator('.agent-row-item', { hasText: 'Ann' }).getByRole('link', { name: 'Give a contract' }).click()
    expect(await page.locator('select[name="agent"]').inputValue()).toBe('Ann')
    await page.getByLabel('Contract').fill('Count the sheep\nall of them')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await page.getByRole('heading', { name: 'Count the sheep' }).first().waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('link', { name: 'Change and start …' }).click()
    await until(async () => (await page.getByLabel('Contract').inputValue()) === 'Count the sheep\nall of them')
    expect(await page.locator('select[name="agent"]').inputValue()).toBe('Ann')
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
