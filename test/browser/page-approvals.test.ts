// Approvals on the page: answered in their row with a click, with words, and by keys.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Relay } from '../../packages/sdk/src/index.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

const command = 'rm -rf build && npm run build -- --mode "production"'
const choices = [
  { id: 'yes', kind: 'allow' },
  { id: 'session', kind: 'always', label: 'Always allow npm run' },
  { id: 'no', kind: 'deny' },
] as const
let asked = 0

describe.skipIf(found.path === undefined)(`approvals on the page, ${inChromium}`, () => {
  let world: PageWorld
  let coder: Relay
  beforeAll(async () => {
    world = await PageWorld.start()
    coder = await world.agent('Coder', { cli: 'claude' })
  })
  afterAll(async () => {
    await world?.stop()
  })

  /** As a hook of the agent's CLI does: answered when somebody has answered. */
  const ask = (input = command, key = `k${++asked}`) =>
    coder.client.call('approval.ask', {
      ...{ key, vendor: 'claude', tool: 'Bash', input, directory: '/srv/shop', passesWords: true },
      choices: [...choices],
    })
  const openIds = async () => (await coder.client.call('approval.list', {})).approvals.map(({ id }) => id)

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)(
    'are allowed in their row, after a moment to take it back, at %i pixels, %s',
    async (width, colorScheme) => {
      const { page } = world
      await page.setViewportSize({ width, height: 860 })
      await page.emulateMedia({ colorScheme })
      await world.show('now')
      const answer = ask()
      const row = page.locator('.need', { hasText: 'Coder' })
      await row.getByText('wants to run').waitFor()
      expect(await row.locator('pre').textContent()).toBe(command)
      expect(await page.locator('.need').count()).toBe(1)
      expect(await page.title()).toMatch(/^\(1\) /)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      await row.getByRole('button', { name: 'Allow once' }).click()
      await row.getByRole('button', { name: 'Take it back' }).click()
      await row.getByRole('button', { name: 'Always allow npm run' }).click()
      await row.hover()
      // Pressed, and not yet answered.
      expect(await openIds()).toHaveLength(1)
      expect(await answer).toMatchObject({ how: 'answered', choice: 'session', kind: 'always' })
      // It stays while the pointer is over it, and says how it ended.
      await row.getByText('Allowed from now on.').waitFor()
      await page.mouse.move(0, 0)
      await row.waitFor({ state: 'detached' })
    },
  )

  it('are denied with words that reach the model, by keys alone', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('now')
    const answer = ask()
    await page.locator('.need', { hasText: 'wants to run' }).waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('d')
    await page.getByLabel('Why not').waitFor()
    await page.keyboard.type('Keep the build.')
    await page.keyboard.press('Enter')
    expect(await answer).toMatchObject({ how: 'answered', kind: 'deny', words: 'Keep the build.' })
    const second = ask('npm test')
    await page.locator('.need', { hasText: 'npm test' }).waitFor()
    await page.locator('#main').focus()
    await page.keyboard.press('j')
    await page.keyboard.press('a')
    await page.keyboard.press('a')
    expect(await second).toMatchObject({ how: 'answered', kind: 'allow' })
    await page.locator('.need').waitFor({ state: 'detached' })
  })

  it('say what is not shown, and let no key allow it', async () => {
    const { page } = world
    await world.show('now')
    const answer = ask(`echo ${'x'.repeat(5_000)}`)
    const row = page.locator('.need', { hasText: 'echo xxx' })
    await row.getByText('1,005 more characters are not shown.').waitFor()
    expect(await row.locator('[data-key="allow"]').count()).toBe(0)
    expect(await row.locator('[data-key="deny"]').count()).toBe(1)
    await row.getByRole('button', { name: 'Allow once' }).click()
    expect(await answer).toMatchObject({ how: 'answered', kind: 'allow' })
    await page.mouse.move(0, 0)
    await row.waitFor({ state: 'detached' })
  })

  it('let nothing happen by an answer to what is over, and stand first where their agent is looked at', async () => {
    const { page } = world
    await world.show('now')
    const first = ask('npm run one', 'one')
    const row = page.locator('.need', { hasText: 'npm run one' })
    await row.getByRole('button', { name: 'Allow once' }).click()
    await row.getByRole('button', { name: 'Take it back' }).waitFor()
    await row.hover()
    // Given up while the answer is held: the next one that asks has not been answered by it.
    await coder.client.call('approval.settle', { key: 'one', how: 'cancelled' })
    expect(await first).toMatchObject({ how: 'cancelled' })
    await row.getByText('Given up by the agent.').waitFor()
    const second = ask('npm run two')
    await page.mouse.move(0, 0)
    await row.waitFor({ state: 'detached' })
    await page.locator('.need', { hasText: 'npm run two' }).waitFor()
    expect(await openIds()).toHaveLength(1)
    await page.locator('.agent-row', { hasText: 'Coder' }).getByText('blocked: wants to run').waitFor()
    await world.show('agent', 'Coder')
    const asking = page.getByRole('region', { name: 'Coder wants to run' })
    await asking.getByText('npm run two').waitFor()
    await asking.getByRole('button', { name: 'Allow once' }).click()
    expect(await second).toMatchObject({ how: 'answered', kind: 'allow' })
    await asking.waitFor({ state: 'detached' })
  })

  it('that ask are answered by an option, by several, or in words, and never by a yes', async () => {
    const { page } = world
    await world.show('now')
    const questions = [
      { text: 'Which store?', options: [{ label: 'Postgres', text: 'for several machines' }, { label: 'SQLite' }] },
      { text: 'Which checks?', options: [{ label: 'unit' }, { label: 'types' }, { label: 'style' }], isMany: true },
    ]
    const choice = { key: 'choice', vendor: 'claude', tool: 'AskUserQuestion', input: 'Which store?', questions }
    const choices = [
      { id: 'answer', kind: 'other' as const },
      { id: 'deny', kind: 'deny' as const },
    ]
    const answer = coder.client.call('approval.ask', { ...choice, choices, passesWords: true })
    const row = page.locator('.need', { hasText: 'Which store?' })
    await row.getByText('asks').first().waitFor()
    await row.getByText('for several machines').waitFor()
    expect(await row.getByRole('button', { name: /allow/i }).count()).toBe(0)
    const send = row.getByRole('button', { name: 'Answer', exact: true })
    expect(await send.isDisabled()).toBe(true)
    await row.getByRole('button', { name: 'Postgres' }).click()
    await row.getByLabel('An answer of your own: Which store?').fill('neither: a file')
    await row.getByRole('button', { name: 'unit' }).click()
    await row.getByRole('button', { name: 'style' }).click()
    await send.click()
    expect(await answer).toMatchObject({ kind: 'other', answers: ['neither: a file', 'unit, style'] })
    await page.mouse.move(0, 0)
    await row.waitFor({ state: 'detached' })
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
