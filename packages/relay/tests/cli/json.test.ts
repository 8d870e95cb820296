// `--json` on errors, and in commands whose answer is a text: programs get JSON on stdout from all of them.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { World } from './cli-world.ts'

const world = new World()
beforeAll(async () => {
  await world.serve()
})
afterAll(() => world.close())

it.each([
  [
    ['send', 'Nobody', 'hi'],
    1,
    { code: 'agent.unknown', message: /^Agent not found: Nobody\./, details: { name: 'Nobody' } },
  ],
  [['receipts', 'm_1'], 1, { code: 'message.unknown', message: /m_1/, details: { message: 'm_1' } }],
  [['who', '--project', 'elsewhere'], 1, { code: 'workspace.unknown', message: /elsewhere/ }],
  [['send', 'Bob', 'hi', '--timeout', '5'], 2, { code: 'usage', message: /add --wait/ }],
  [['send', 'Bob', '--jsn'], 2, { code: 'usage', message: /unknown option '--jsn'/ }],
  [['sned', 'Bob', 'hi'], 2, { code: 'usage', message: /Did you mean send\?/ }],
])('%j', async (args, exit, { message, ...rest }) => {
  const { code, stdout, stderr } = await world.run([...args, '--json'])
  expect(code).toBe(exit)
  const { error } = JSON.parse(stdout)
  expect(error).toMatchObject({ ...rest, message: expect.stringMatching(message) })
  expect(stdout.split('\n')).toHaveLength(2)
  // A script that keeps stdout for itself still shows a person what went wrong.
  expect(stderr).toMatch(message)
})

it('names the exit code where no refusal does', async () => {
  const nowhere = { cwd: world.directory('bare'), env: { RELAY_DATA_DIR: '/nonexistent' } }
  const [away, refused] = await Promise.all([
    world.run(['who', '--json'], nowhere),
    world.run(['trust', '--json'], nowhere),
  ])
  expect(away.code).toBe(69)
  expect(JSON.parse(away.stdout)).toMatchObject({ error: { code: 'daemon.not-running' } })
  expect(refused.code).toBe(1)
  expect(JSON.parse(refused.stdout)).toEqual({
    error: { code: 'refused', message: 'There is no .relay/config.json here or above.' },
  })
})

it('leaves an answer alone that tells of the failure itself', async () => {
  const [run, action] = await Promise.all([
    world.run(['runs', 'status', 'run_none', '--json']),
    world.run(['actions', 'invoke', 'no.such', '--json']),
  ])
  expect(run.code).toBe(1)
  expect(JSON.parse(run.stdout)).toMatchObject({ runs: [{ id: 'run_none' }] })
  expect(action.code).toBe(1)
  expect(JSON.parse(action.stdout)).toMatchObject({ ok: false, error: { code: 'unknown_action' } })
})

it('what comes after `--` is text, not an option', async () => {
  expect(await world.run(['send', 'Nobody', '--', '--json'])).toMatchObject({ code: 1, stdout: '' })
})

it('a text is a field of its answer', async () => {
  const [completion, unit] = await Promise.all([
    world.json(['completion', 'bash']),
    world.json(['daemon', 'install-service', '--dry-run']),
  ])
  expect(completion).toMatchObject({ shell: 'bash', script: expect.stringContaining('agent-relay') })
  expect(unit).toMatchObject({
    path: expect.stringMatching(/agent-relay\.service$/),
    text: expect.stringContaining('[Service]'),
  })
  expect(await world.json(['daemon', 'install-service', '--remove'])).toMatchObject({ isRemoved: false })
})
