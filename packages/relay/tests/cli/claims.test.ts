// Claims at the command line: the output of claims, add and drop, and the policy.

import { realpathSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository } from '../work/repository-world.ts'
import { World } from './cli-world.ts'

let world: World
let cwd: string
beforeAll(async () => {
  world = new World()
  await world.serve()
  cwd = realpathSync(world.directory('repository'))
  makeRepository(cwd)
})
afterAll(() => world.close())

const run = (...args: string[]) => world.run(args, { cwd })

test('claimed by hand, listed, denied to another, and dropped by a person', async () => {
  expect(await run('claims')).toMatchObject({ code: 0, stderr: expect.stringContaining('No file is claimed.') })
  const added = await run('claims', 'add', 'a.txt', 'sub/../sub/b.txt', '--as', 'Ada')
  expect(added.stdout).toBe('Ada has claimed a.txt for 10 minutes.\nAda has claimed sub/b.txt for 10 minutes.\n')
  expect((await run('claims')).stdout).toMatch(/^AGENT +FILE .*\nAda +a\.txt +now +in 10 min +hand\nAda +sub\/b\.txt /)
  const { claims } = JSON.parse((await run('claims', '--json')).stdout)
  expect(claims[0]).toMatchObject({ agent: 'Ada', root: cwd, file: 'a.txt', how: 'hand' })
  const held = await run('claims', 'add', 'a.txt', '--as', 'Bob')
  expect(held.code).toBe(1)
  expect(held.stderr).toMatch(
    /Ada has claimed a\.txt since \d\d:\d\d UTC\. To ask for the file: agent-relay send .*Ada TEXT/,
  )
  // Whoever types it holds the key of the workspace.
  expect((await run('claims', 'drop', 'a.txt')).stdout).toBe('The claim of Ada on a.txt is over.\n')
  expect(await run('claims', 'drop', 'a.txt')).toMatchObject({ code: 1 })
  expect(await run('claims', 'add', '/etc/hostname')).toMatchObject({ code: 2 })
})

test('the policy says what each setting does', async () => {
  expect((await run('workspace', 'policy', 'get')).stdout).toContain(
    'claims        deny: an edit of a file that another',
  )
  expect((await run('workspace', 'policy', 'set', '--claims', 'off')).stdout).toContain(
    'claims        off: nobody is asked about edits',
  )
  expect((await run('workspace', 'policy', 'set', '--claims', 'never')).code).toBe(2)
})
