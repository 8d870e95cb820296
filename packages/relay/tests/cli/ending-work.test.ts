// What a person reads before the work of a worker ends with the relay: by Ctrl-C at a terminal, by a signal, and by `daemon stop`.

import { spawn as spawnPty } from '@lydell/node-pty'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import { launcher, World } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const hire = () => world.launch(['spawn', 'Helper', '--command', 'sleep 600'])
const workers = async () => (await world.json<{ workers: { name: string }[] }>(['workers'])).workers

/** The relay in a terminal, with what stands on it. */
async function up() {
  const terminal = spawnPty(process.execPath, [launcher, 'up', '--no-http'], {
    cwd: world.cwd,
    env: world.env as Record<string, string>,
    cols: 200,
  })
  const seen = { text: '' }
  terminal.onData((data) => (seen.text += data))
  const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)))
  const shows = (text: string) => until(() => seen.text.includes(text))
  await shows('ready.')
  return { terminal, ended, shows, seen, interrupt: () => terminal.write('\x03') }
}

test('a first Ctrl-C names the workers that would end, and ends none', async () => {
  const relay = await up()
  await hire()
  relay.interrupt()
  await relay.shows('This worker ends with the daemon: Helper in app. Press Ctrl-C again within 5 seconds')
  await relay.shows('The relay goes on.')
  expect(await workers()).toMatchObject([{ name: 'Helper' }])
  relay.interrupt()
  await until(() => relay.seen.text.split('Press Ctrl-C again').length === 3)
  relay.interrupt()
  expect(await relay.ended).toBe(0)
  expect(relay.seen.text).toContain('Ended with it: Helper in app. To give a task again: agent-relay retry NAME')
})

test('Ctrl-C ends a relay without workers at once, and a signal ends one with workers', async () => {
  const idle = await up()
  idle.interrupt()
  expect(await idle.ended).toBe(0)
  expect(idle.seen.text).not.toContain('Press Ctrl-C again')
  const relay = await up()
  await hire()
  relay.terminal.kill('SIGTERM')
  expect(await relay.ended).toBe(0)
  expect(relay.seen.text).toContain('Ended with it: Helper in app.')
  expect(isAlive(relay.terminal.pid)).toBe(false)
})

test('daemon stop and restart name the workers that end with it', async () => {
  await world.launch(['daemon', 'start', '--no-http'])
  await hire()
  const restarted = await world.launch(['daemon', 'restart'])
  expect(restarted.stderr).toContain('Ended with it: Helper in app.')
  await hire()
  const stopped = await world.launch(['daemon', 'stop', '--json'])
  expect(JSON.parse(stopped.stdout)).toMatchObject({ stopped: true, ended: ['Helper in app'] })
})
