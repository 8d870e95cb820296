// `needs` at the command line: the list for the person who types, and dismissing a need.

import type { Need } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { loginName } from '../../src/cli/connection.ts'
import { World } from './cli-world.ts'

let world: World
beforeEach(async () => {
  world = new World()
  await world.serve()
})
afterEach(() => world.close())

const me = loginName()
const needs = async () => (await world.json<{ needs: Need[] }>(['needs'])).needs

test('a question and messages, read or not, until they are answered or dismissed', async () => {
  const none = 'Nothing needs you. Nobody is blocked, and nobody waits for your answer.\n'
  expect(await world.run(['needs'])).toEqual({ code: 0, stdout: '', stderr: none })
  await world.run(['send', me, 'May I?', '--kind', 'question', '--as', 'Ann'])
  await world.run(['send', me, 'One.', '--as', 'Bob'])
  await world.run(['send', me, 'Two.\u001b[31m', '--as', 'Bob'])
  await world.run(['inbox'])
  const told = `told:@${['Bob', me].sort().join(',')}`
  const [question, ...rest] = await needs()
  expect(question).toMatchObject({ kind: 'question', who: 'Ann', text: 'May I?', message: { body: 'May I?' } })
  expect(rest).toMatchObject([{ key: told, kind: 'mention', who: 'Bob', count: 2 }])
  const { stdout, stderr } = await world.run(['needs'])
  expect(stdout).toMatch(
    /^SINCE +WHO +WHAT +TEXT +KEY\n.* Ann +asks +May I\? +question:m_\w+\n.* Bob +writes \(2\) +Two\./,
  )
  expect(stdout).not.toContain('\u001b')
  expect(stderr).toContain(`2 things need you.  agent-relay send Ann TEXT --reply-to ${question?.message?.id}`)
  expect(await world.run(['needs', 'dismiss', told])).toEqual({ code: 0, stdout: `Dismissed: ${told}\n`, stderr: '' })
  await world.run(['send', 'Ann', 'Yes.', '--reply-to', question?.message?.id as string])
  expect(await needs()).toEqual([])
  expect(await world.run(['needs', 'dismiss', 'told:#nowhere'])).toEqual({
    ...{ code: 1, stdout: '' },
    stderr: 'Nothing that is called "told:#nowhere" needs you. All that does: agent-relay needs\n',
  })
  expect(await world.run(['needs', 'dismiss'])).toMatchObject({ code: 2 })
})

test('a worker that failed, until it is given its task again or dismissed', async () => {
  const fails = ['--command', `${process.execPath} -e "setTimeout(()=>process.exit(3),1500)"`]
  await world.run(['spawn', 'Tasked', ...fails, '--task', 'Try.'])
  await world.run(['spawn', 'Idle', ...fails])
  const failed = async () => (await needs()).filter(({ kind }) => kind === 'failed')
  await until(async () => (await failed()).length === 2)
  const [tasked, idle] = ['Tasked', 'Idle'].map(async (name) => (await failed()).find(({ who }) => who === name))
  expect(await tasked).toMatchObject({ worker: expect.stringMatching(/^wk?_/), canRetry: true })
  expect(await idle).not.toHaveProperty('canRetry')
  await world.run(['needs', 'dismiss', (await idle)?.key as string])
  expect((await failed()).map(({ who }) => who)).toEqual(['Tasked'])
  await world.run(['retry', 'Tasked'])
  expect(await failed()).toEqual([])
  await world.run(['release', 'Tasked'])
  expect(await failed()).toEqual([])
})
