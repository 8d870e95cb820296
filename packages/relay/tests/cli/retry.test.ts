// `retry` at the command line: a worker's task and a run's contract once more, the refusals, and where both stay visible.

import type { Agent, Run, Worker } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { World } from './cli-world.ts'

let world: World
beforeEach(async () => {
  world = new World()
  await world.serve()
})
afterEach(() => world.close())

const task = '# Keep the door\nand close it at night.'

test('a worker: the same task again, and it stays visible', async () => {
  expect(await world.run(['retry', 'Door'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'No worker is named "Door". All that ever ran: agent-relay workers --all\n',
  })
  await world.run(['spawn', 'Door', '--command', 'cat', '--task', task])
  expect(await world.run(['retry', 'Door'])).toMatchObject({
    code: 1,
    stderr: 'Worker "Door" is still running. Release it first: agent-relay release Door\n',
  })
  expect((await world.run(['who'])).stdout).toMatch(/^NAME .* TASK\n[\s\S]*^Door .* Keep the door$/m)
  expect((await world.run(['workers'])).stdout).toMatch(/TASK\nDoor .* Keep the door\n/)
  const { agents } = await world.json<{ agents: Agent[] }>(['who'])
  expect(agents.find(({ name }) => name === 'Door')?.task).toBe(task)
  await world.run(['release', 'Door'])
  expect((await world.run(['retry', 'Dor'])).stderr).toMatch(/^No worker is named "Dor". Did you mean Door\?/)
  const again = await world.run(['retry', 'Door'])
  expect(again).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Door started \(plain, pid \d+\)\. It reports/),
  })
  await world.run(['release', 'Door'])
  const { worker } = await world.json<{ worker: Worker }>(['retry', 'Door'])
  const { workers } = await world.json<{ workers: (Worker & { task: string })[] }>(['workers', '--all'])
  expect(workers.map(({ name }) => name)).toEqual(['Door', 'Door', 'Door'])
  expect(workers[0]).toMatchObject({ id: worker.id, again: workers[1]?.id, task })
  expect(workers[1]).toMatchObject({ again: workers[2]?.id, task })
  expect(workers[2]).not.toHaveProperty('again')
  await world.run(['release', 'Door'])
  await world.run(['spawn', 'Idle', '--command', 'cat'])
  await world.run(['release', 'Idle'])
  expect(await world.run(['retry', 'Idle'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^There is no task to give worker "Idle" again: it was given none\. To hire it/),
  })
})

test('a run: the same contract again, by its id and by the name of its agent', async () => {
  const start = ['runs', 'start', '--contract', '# Count the files\nin every folder.', '--harness', 'external']
  const first = await world.json<Run>(start)
  expect(await world.run(['retry', first.id])).toMatchObject({
    code: 1,
    stderr: `The run ${first.id} has not ended. Stop it first: agent-relay runs stop ${first.id}\n`,
  })
  await world.run(['runs', 'stop', first.id])
  const second = await world.json<Run>(['retry', first.id])
  expect(second).toMatchObject({ status: 'running', harness: 'external', again: first.id })
  expect((await world.run(['runs', 'status', second.id])).stdout).toMatch(
    new RegExp(`running\\n {2}contract: Count the files\\n {2}.*, again after ${first.id}\\n`),
  )
  expect((await world.run(['runs'])).stdout).toMatch(/TASK[\s\S]*running .* Count the files/)
  const contract = '# Count the files\nin every folder.'
  expect(await world.json(['runs'])).toMatchObject({
    runs: [
      { id: second.id, contract },
      { id: first.id, contract },
    ],
  })
  expect(await world.json(['runs', 'status', second.id])).toMatchObject({ runs: [{ contract, again: first.id }] })
  await world.run(['runs', 'stop', second.id])
  expect(await world.run(['retry', second.id])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^run_\w+ started: .* \(external\), for /),
  })
  // A loop has an agent of its own, and without a model it stops at once.
  const began = await world.run(['runs', 'start', '--contract', 'Think.', '--harness', 'loop', '--json'])
  const loop = JSON.parse(began.stdout) as Run
  expect(loop.status).toBe('stopped')
  const named = await world.run(['retry', loop.agent])
  expect(named).toMatchObject({ code: 1, stderr: expect.stringMatching(/^run_\w+ stopped: /) })
  expect(named.stderr).not.toContain(loop.id)
})
