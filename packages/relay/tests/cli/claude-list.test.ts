// `mcp install` lets our agents stand in Claude Code's own list where a flag says so, and `mcp uninstall` ends that.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

test('by a flag, never by itself', async () => {
  const may = () => existsSync(join(world.dataDir, 'claude-list'))
  const install = (...flags: string[]) => world.run(['mcp', 'install', '--editor', 'claude', '--no-hooks', ...flags])
  await install('--yes')
  expect(may()).toBe(false)
  await install('--claude-list', '--dry-run')
  expect(may()).toBe(false)
  const { stderr } = await install('--claude-list')
  expect(stderr).toContain("Claude Code's own list shows the relay's agents from now on")
  expect(may()).toBe(true)
  await install()
  expect(may()).toBe(true)
  await install('--no-claude-list')
  expect(may()).toBe(false)
  await install('--claude-list')
  await world.run(['mcp', 'uninstall', '--editor', 'cursor', '--yes'])
  expect(may()).toBe(true)
  await world.run(['mcp', 'uninstall', '--editor', 'claude', '--yes'])
  expect(may()).toBe(false)
})
