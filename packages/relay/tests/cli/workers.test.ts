// Workers at the command line, with plain programs: the messages to a person when one starts, prints, ends and is released.

import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { acpAgent } from '../supervisor/worker-world.ts'
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

test('interrupt ends the turn of a worker, which stays', async () => {
  const log = join(world.root, 'log')
  const start = ['spawn', 'Busy', '--acp', `${process.execPath} ${acpAgent} --log ${log}`]
  expect(await world.run([...start, '--task', 'hang'])).toMatchObject({ code: 0 })
  await until(async () => (await world.run(['workers'])).stdout.includes(' busy '))
  expect(await world.run(['interrupt', 'Busy'])).toMatchObject({ code: 0, stdout: 'Busy interrupted.\n' })
  await until(async () => (await world.run(['workers'])).stdout.includes(' idle '))
  const refused = { code: 1, stderr: 'Worker "Busy" is not in a turn: it waits for its next prompt.\n' }
  expect(await world.run(['interrupt', 'Busy'])).toMatchObject(refused)
  expect((await world.run(['events'])).stdout).toMatch(/\w+ interrupts Busy\n/)
  await world.run(['spawn', 'Cat', '--command', 'cat'])
  expect(await world.run(['interrupt', 'Cat'])).toMatchObject({
    stderr:
      'The relay knows no way to interrupt worker "Cat" (plain). Interrupt it at its terminal: agent-relay attach Cat\n',
  })
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
