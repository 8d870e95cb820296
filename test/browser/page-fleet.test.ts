// The list of agents: tasks, branches and states in the rows, ended ones folded away, runs by their contracts, and the diff of a worker.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../until.ts'
import { found, inChromium } from './chromium.ts'
import { PageWorld } from './page-world.ts'

describe.skipIf(found.path === undefined)(`who does what, ${inChromium}`, () => {
  let world: PageWorld
  let repo = ''
  beforeAll(async () => {
    world = await PageWorld.start()
    repo = mkdtempSync(join(tmpdir(), 'shop-'))
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.invalid', ...args], { cwd: repo })
    git('init', '-q', '-b', 'main')
    writeFileSync(join(repo, 'parser.ts'), 'const a = 1\nconst b = 2\n')
    git('add', '.')
    git('commit', '-qm', 'begin')
    const ann = await world.agent('Ann')
    const gone = await world.agent('Gone')
    await gone.close()
    await ann.client.call('worker.spawn', {
      ...{ name: 'Fixer', cli: 'plain', cwd: repo, worktree: true, task: '## Fix the **parser**\nand say why' },
      command: ['sh', '-c', 'echo "const b = 3" > parser.ts; echo changed; exec sleep 1000'],
    })
    await ann.client.call('claim.add', { cwd: repo, files: ['parser.ts'] })
    await ann.client.call('run.start', {
      contract: '# Count the sheep\nall of them',
      harness: 'external',
      agent: 'Ann',
    })
  })
  afterAll(async () => {
    await world?.stop()
    rmSync(repo, { recursive: true, force: true })
  })

  it.each([
    [1280, 'light'],
    [390, 'dark'],
  ] as const)('is shown at %i pixels, %s', async (width, colorScheme) => {
    const { page } = world
    await page.setViewportSize({ width, height: 860 })
    await page.emulateMedia({ colorScheme })
    await world.show('now')
    const row = page.locator('.agent-row', { hasText: 'Fixer' })
    await row.waitFor()
    if (width > 1100) {
      await row.getByText('Fix the parser', { exact: true }).waitFor()
      await row.getByText('relay/Fixer').waitFor()
    }
    const inHand = page.getByRole('region', { name: 'Claimed files' })
    await inHand.getByRole('link', { name: /^Ann.*parser\.ts$/s }).waitFor()
    expect(await page.locator('.agent-row', { hasText: 'Gone' }).count()).toBe(0)
    await page.getByRole('button', { name: '1 finished or away' }).click()
    await page.locator('.agent-row', { hasText: 'Gone' }).getByText('offline').waitFor()
    await page.getByRole('button', { name: 'Hide those that are away' }).click()
    await world.show('runs')
    await page.locator('.pick', { hasText: 'Count the sheep' }).click()
    await page.getByRole('heading', { name: 'Count the sheep' }).first().waitFor()
    await world.show('agent', 'Fixer', 'diff')
    await page.locator('.program-task', { hasText: 'Fix the parser' }).waitFor()
    await page.locator('.diff-removed', { hasText: '-const a = 1' }).waitFor()
    await page.locator('.diff-added', { hasText: '+const b = 3' }).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })

  it('says how a worker ended, with its last screen', async () => {
    const { page } = world
    const boss = await world.agent('Boss')
    await boss.client.call('worker.spawn', {
      ...{ name: 'Brief', cli: 'plain', cwd: '/' },
      command: ['sh', '-c', 'echo last words; sleep 1.5; exit 4'],
    })
    await world.show('agent', 'Brief', 'terminal')
    await page.getByText('Its program has ended').waitFor()
    await page.locator('.screen', { hasText: 'last words' }).waitFor()
    await until(() => page.locator('.agent-head').getByText('failed: its program ended with code 4').isVisible())
  })

  it('archives one that has ended from its row, after asking once more', async () => {
    const { page } = world
    await page.setViewportSize({ width: 1280, height: 860 })
    await world.show('now')
    await page.getByRole('button', { name: /finished or away$/ }).click()
    const row = page.locator('.agent-row-item', { hasText: 'Gone' })
    await row.hover()
    await row.getByRole('button', { name: 'Archive' }).click()
    await row.getByRole('button', { name: 'Really archive?' }).click()
    await row.waitFor({ state: 'detached' })
    // What is there goes on: it has no such button.
    await page.locator('.agent-row-item', { hasText: 'Fixer' }).hover()
    expect(await page.locator('.agent-row-item', { hasText: 'Fixer' }).getByText('Archive').count()).toBe(0)
    const ann = await world.agent('Ann')
    const { agents } = await ann.client.call('agent.list', { includeOffline: true })
    expect(agents.map(({ name }) => name)).not.toContain('Gone')
  })

  it.each([
    [
      'a diff',
      'diff --git a/src/lexer.ts b/src/lexer.ts\n--- a/src/lexer.ts\n+++ b/src/lexer.ts\n@@ -1 +1 @@\n-const a = 1\n+const a = 2\ndiff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-old\n+new\n',
    ],
    ['JSON by names', JSON.stringify({ files: { 'src/lexer.ts': 'const a = 2\n', 'README.md': 'new\n' } })],
    [
      'JSON as a list',
      JSON.stringify([
        { path: 'src/lexer.ts', content: 'const a = 2\n' },
        { path: 'README.md', content: 'new' },
      ]),
    ],
  ])('shows the files of a payload that is %s', async (_what, payload) => {
    const { page } = world
    const ann = await world.agent('Ann')
    const run = await ann.client.call('run.start', { contract: 'Change it', harness: 'external', agent: 'Ann' })
    await ann.client.call('run.complete', { run: run.id, summary: 'Changed.', payload })
    await world.show('runs', run.id)
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.getByRole('button', { name: /^README\.md/ }).waitFor()
    await page.getByRole('button', { name: /^src\/lexer\.ts/ }).click()
    await page.locator('.files pre', { hasText: 'const a = 2' }).waitFor()
    expect(await page.locator('.files pre').count()).toBe(1)
  })

  it('had nothing to complain about', () => {
    expect(world.complaints).toEqual([])
  })
})
