// `agent-relay prove` as a person uses it: its output, its note on promises that cannot be tried here, and that nothing is left when it is stopped.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promiseNames } from '@agent-relay/prove'
import { afterAll, expect, it } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import { World } from './cli-world.ts'

const world = new World()
afterAll(() => world.close())

const folders = () => readdirSync(world.root).filter((name) => name.startsWith('relay-prove-'))

it('one promise, in a private directory that goes with it', async () => {
  const { code, stdout, stderr } = await world.launch(['prove', '--only', 'wake'])
  expect([code, stdout, stderr]).toEqual([
    0,
    expect.stringMatching(
      /^PROMISE .*\nwake {5}holds {2}100 answers, median [\d.]+ ms, .* whoever waits is woken .*\n$/,
    ),
    '1 of 1 promise held.\n',
  ])
  expect([folders(), existsSync(world.dataDir)]).toEqual([[], false])
})

it('what cannot be tried here is skipped with its reason, and is not said to hold', async () => {
  const bare = { env: { PATH: world.directory('no-programs') } }
  const { code, stdout } = await world.launch(['prove', '--only', 'sync', '--only', 'full-disk', '--json'], bare)
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      ok: true,
      promises: [
        { name: 'sync', holds: null, figure: '', why: expect.stringContaining('strace is not installed') },
        { name: 'full-disk', holds: null, figure: '', why: expect.stringContaining('unshare is not installed') },
      ],
    },
  ])
  const table = await world.launch(['prove', '--only', 'sync'], bare)
  expect(table).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^sync +skipped +strace is not installed/m),
    stderr: '0 of 1 promise held, 1 could not be tried here.\n',
  })
})

it('no other command loads its package, though all of them are asked for their options', async () => {
  const hook = `export const resolve = (name, context, next) => {
    if (name === '@agent-relay/prove') throw new Error('the package is loaded')
    return next(name, context)
  }`
  const dataUrl = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
  const before = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(hook))})`
  const watched = { env: { NODE_OPTIONS: `--import=${dataUrl(before)}` } }
  const completion = await world.launch(['completion', 'bash', '--json'], watched)
  expect([completion.code, completion.stdout]).toEqual([0, expect.stringContaining('prove')])
  expect((await world.launch(['prove'], watched)).stderr).toContain('the package is loaded')
})

it('an unknown promise is a mistake, and those that there are are named', async () => {
  const { code, stderr } = await world.run(['prove', '--only', 'speed'])
  expect([code, stderr]).toEqual([2, `There is no promise "speed". There are: ${promiseNames.join(', ')}\n`])
})

it.each([1, 2])('%i Ctrl-C end it, and neither a daemon nor a directory is left', async (times) => {
  const running = world.start(['prove', '--only', 'kill'])
  const sockets = () => folders().map((name) => join(world.root, name, 'projects/crash/daemon.sock'))
  await until(() => sockets().some((path) => existsSync(path)))
  const children = execFileSync('pgrep', ['-P', String(running.child.pid)], { encoding: 'utf8' })
    .trim()
    .split('\n')
  for (let i = 1; i < times; i++) running.child.kill('SIGINT')
  const { code } = await running.stop('SIGINT')
  expect(code).toBe(130)
  expect(children.length).toBeGreaterThan(0)
  await until(() => !children.some((pid) => isAlive(Number(pid))))
  expect(folders()).toEqual([])
})
