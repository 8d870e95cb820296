// `needs` at the command line: the list for the person who types, and dismissing a need.

import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Need } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import { loginName } from '../../src/cli/connection.ts'
import { World } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const me = loginName()
const needs = async () => (await world.json<{ needs: Need[] }>(['needs'])).needs

test('a question and messages, read or not, until they are answered or dismissed', async () => {
  await world.serve()
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
    stderr:
      'There is no need "told:#nowhere": nothing of that name waits for you. To see what does: agent-relay needs\n',
  })
  expect(await world.run(['needs', 'dismiss'])).toMatchObject({ code: 2 })
})

test('a worker that failed, until it is given its task again or dismissed', async () => {
  await world.serve()
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

test('what a killed daemon took along, with how to go on; not what its person had ended', async () => {
  const words = join(world.root, 'words')
  const program = join(world.directory('home/.local/bin'), 'claude')
  writeFileSync(program, `#!/bin/sh\necho "$@" >> ${words}\nexec sleep 1000\n`)
  chmodSync(program, 0o755)
  /** How the program was last told which conversation it has. */
  const conversation = () =>
    /(--session-id|--resume) (\S+)/.exec(readFileSync(words, 'utf8').trim().split('\n').at(-1) ?? '')
  await world.run(['daemon', 'start'])
  await world.run(['spawn', 'Fixer', '--cli', 'claude', '--task', 'Fix it.'])
  await world.run(['spawn', 'Plain', '--command', 'sleep 1000', '--task', 'Wait.'])
  await world.run(['spawn', 'Done', '--command', 'sleep 1000', '--task', 'Wait.'])
  await world.run(['release', 'Done'])
  const [, began, id] = conversation() as RegExpExecArray
  expect([began, id]).toEqual(['--session-id', expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)])
  const { pid } = await world.json<{ pid: number }>(['daemon', 'status'])
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
  const saysFailed = '2 ended without being asked to, with how to go on: agent-relay needs\n'
  await world.start(['up']).says(new RegExp(`^${saysFailed}`, 'm'))
  const listed = (await needs()).map(({ who, text, canRetry, canContinue }) => [who, text, canRetry, canContinue])
  const why = 'the daemon was restarted'
  expect(listed.sort()).toEqual([
    ['Fixer', why, true, true],
    ['Plain', why, true, undefined],
  ])
  const shown = await world.run(['needs'])
  expect(shown.stdout).toMatch(/ Fixer +has failed +Fix it\. · the daemon was restarted +failed:wk_/)
  expect(shown.stdout).toContain(
    'its conversation is lost: the relay knows no way to have plain continue a conversation',
  )
  expect(shown.stderr).toMatch(/agent-relay retry (Fixer --continue|Plain) {2}·/)
  const who = await world.run(['who'])
  expect(who.stdout).toMatch(/^Fixer .*failed: the daemon was restarted/m)
  expect(who.stdout).not.toContain('Done')
  expect(who.stderr).toContain(saysFailed)
  expect(await world.run(['retry', 'Plain', '--continue'])).toEqual({
    ...{ code: 1, stdout: '' },
    stderr:
      'Worker "Plain" cannot go on with its conversation: the relay knows no way to have plain continue a conversation. To give it its task from the beginning: agent-relay retry Plain\n',
  })
  await world.run(['retry', 'Fixer', '--continue'])
  expect(conversation()?.slice(1)).toEqual(['--resume', id])
  await world.run(['needs', 'dismiss', `failed:${(await needs())[0]?.worker}`])
  expect(await needs()).toEqual([])
  expect((await world.run(['who'])).stdout).not.toContain('failed')
  await world.run(['release', 'Fixer'])
  expect((await world.run(['retry', 'Fixer', 'Plain'])).stdout).toMatch(/^Fixer started .*\nPlain started /)
  const [, beganAgain, other] = conversation() as RegExpExecArray
  expect([beganAgain, other === id]).toEqual(['--session-id', false])
})
