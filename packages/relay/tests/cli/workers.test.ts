// Workers at the command line, with plain programs: the messages to a person when one starts, prints, ends and is released.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { World } from './cli-world.ts'

let world: World
beforeEach(async () => {
  world = new World()
  await world.serve()
})
afterEach(() => world.close())

test('spawn, workers and release', async () => {
  const started = await world.run(['spawn', 'Cat', '--command', 'cat'])
  expect(started).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Cat started \(plain, pid \d+\)\. It reports/),
  })
  expect((await world.run(['workers'])).stdout).toMatch(/^NAME .*\nCat +plain /)
  expect(await world.run(['release', 'Cat'])).toMatchObject({ code: 0, stdout: 'Cat released.\n' })
  expect(await world.run(['release', 'Cat'])).toMatchObject({ code: 1, stderr: 'Worker "Cat" has exited: released\n' })
})

test('a word that belongs to no option is not passed on, and what stands after -- is', async () => {
  const misplaced = await world.run(['spawn', 'Cat', 'Fix the parser', '--command', 'echo', '--', 'said'])
  expect(misplaced).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^"Fix the parser" .* --task "…"; .* --\.\n$/),
  })
  expect((await world.run(['workers'])).stdout).not.toContain('Cat')
  await world.run(['spawn', 'Cat', '--command', 'sh -c "echo $0; sleep 600"', '--', 'said'])
  await until(async () => (await world.run(['logs', 'Cat'])).stdout.includes('said'))
})

test('logs --follow prints until the end, and says how it came', async () => {
  await world.run(['spawn', 'Bye', '--command', 'sh -c "sleep 3; echo goodbye; exit 5"'])
  const { code, stdout, stderr } = await world.launch(['logs', 'Bye', '--follow'])
  expect(stdout).toContain('goodbye')
  expect(stderr).toBe('Worker "Bye" has exited: its program ended with code 5\n')
  expect(code).toBe(0)
  // Afterwards: what stood there last, and then why.
  for (const args of [[], ['--follow']])
    expect(await world.launch(['logs', 'Bye', ...args])).toEqual({ code: 0, stdout: 'goodbye\n', stderr })
  expect(await world.json(['logs', 'Bye'])).toEqual({ name: 'Bye', text: 'goodbye', exited: stderr.trimEnd() })
})
