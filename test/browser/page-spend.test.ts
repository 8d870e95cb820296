// Spend on the page: rows and views of agents, workers and runs show the known spend, and nothing if it is unknown.

import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { acpHarness } from '../../packages/relay/src/supervisor/harness/acp.ts'
import { completes } from '../../packages/relay/tests/runs/runs-world.ts'
import { ModelServer } from '../bench/model-server.ts'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

const agent = fileURLToPath(new URL('../agents/scripted-acp-agent.mjs', import.meta.url))

describe.skipIf(found.path === undefined)(`spend, ${inChromium}`, () => {
  let world: PageWorld
  let model: ModelServer
  let run = ''
  beforeAll(async () => {
    model = await ModelServer.start()
    world = await PageWorld.start({ harnesses: [acpHarness], env: model.env('anthropic') })
    const { client } = await world.agent('Ann')
    const turn = {
      usage: { inputTokens: 12_000, outputTokens: 345, cachedReadTokens: 9_000, totalTokens: 12_345 },
      cost: { amount: 0.42, currency: 'USD' },
    }
    const command = [process.execPath, agent, '--log', `${world.http.dir}/spender.log`]
    await client.call('worker.spawn', {
      ...{ name: 'Spender', cli: 'acp', control: 'acp', cwd: '/', command },
      task: `spends ${JSON.stringify(turn)}`,
    })
    model.script(completes('Done.'))
    run = (await client.call('run.start', { contract: 'Count the sheep', harness: 'loop' })).id
    await until(async () => (await client.call('spend.list', {})).spend.length === 2)
    await until(async () => (await client.call('run.list', {})).runs[0]?.status === 'completed')
  })
  afterAll(async () => {
    await world?.stop()
    await model?.close()
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('is shown at %i pixels, %s', async (width, colorScheme) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    await world.show('now')
    const row = page.locator('.agent-row', { hasText: 'Spender' })
    await row.getByText('12k tok $0.42').waitFor()
    expect(await row.locator('.spent').getAttribute('title')).toBe(
      '12,000 tokens in (9,000 of them cached), 345 out; $0.42 at list price',
    )
    // Nobody tells what a program uses that only talks with us.
    expect(await page.locator('.agent-row', { hasText: 'Ann' }).locator('.spent').count()).toBe(0)
    await world.show('agent', 'Spender', 'inbox')
    await page.locator('.agent-head').getByText('12k tok $0.42').waitFor()
    await page.locator('.program').getByText('12k tok $0.42').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await world.show('runs')
    await page.locator('.pick', { hasText: 'Count the sheep' }).getByText('15 tok').waitFor()
    await world.show('runs', run)
    const used = page.locator('.facts').getByText('15 tok')
    await used.waitFor()
    expect(await used.getAttribute('title')).toMatch(/^10 tokens in .*, 5 out; its cost is not known$/)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  it('says which button of a run that has ended starts at once, and which opens the form', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('runs', run)
    expect(await page.getByRole('button', { name: 'Retry' }).getAttribute('title')).toMatch(/^Starts at once/)
    const change = page.getByRole('link', { name: 'Change and start …' })
    expect(await change.getAttribute('title')).toMatch(/^Opens the form/)
    await change.click()
    await until(async () => (await page.getByLabel('Contract').inputValue()) === 'Count the sheep')
    const client = (await world.agent('Ann')).client
    expect((await client.call('run.list', {})).runs).toHaveLength(1)
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
