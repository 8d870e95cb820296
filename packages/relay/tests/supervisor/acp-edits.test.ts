// Edits of scripted ACP agents in one checkout: they claim files and meet the claims of others, like edits that a hook reports.

import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RelayClient } from '@agent-relay/sdk'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { waitingPermissionsMax } from '../../src/supervisor/control/acp-permissions.ts'
import { makeRepository } from '../work/repository-world.ts'
import { acpAgent, WorkerWorld } from './worker-world.ts'

let world: WorkerWorld
let repo: string
/** Holds the workspace's key. */
let kim: RelayClient
/** What the daemon has told agents of claims, by the cause of the message. */
const notices: string[] = []
beforeAll(async () => {
  world = await WorkerWorld.start()
  repo = join(world.root, 'repo')
  mkdirSync(repo)
  makeRepository(repo)
  kim = await world.client('Kim', world.key)
  const { workspace } = await world.daemon.open('home')
  workspace.hub.listen((entries) => {
    for (const { cause } of entries) if (cause.startsWith('claim/')) notices.push(cause)
  })
  for (const name of ['Anna', 'Bert']) {
    const command = [process.execPath, acpAgent, '--log', world.logPath(name)]
    await world.lead.call('worker.spawn', { name, cli: 'acp', command, cwd: repo })
    await until(() => world.isReady(name))
  }
})
afterAll(() => world.stop())

const send = (to: string, body: string) => world.lead.call('message.send', { to, body })
const outcomes = (name: string, file: string) =>
  world
    .log(name)
    .filter(({ event, text }) => event === 'permission' && text === file)
    .map(({ outcome }) => outcome)
const claims = async () => (await kim.call('claim.list', {})).claims.map(({ agent, file }) => `${agent} ${file}`)
const textOf = (file: string) => (existsSync(join(repo, file)) ? readFileSync(join(repo, file), 'utf8') : '')
const waiting = async (name: string) => {
  const { approvals } = await kim.call('approval.list', {})
  return approvals.filter(({ agent }) => agent === name).length
}
const facts = async (type: string) => (await kim.call('event.list', { types: [type], limit: 100 })).events

test('the first edit claims the file, and that of another is denied before anybody is asked, in words that reach the model', async () => {
  await send('Anna', 'writes a.txt')
  await until(async () => (await waiting('Anna')) === 1)
  // The request for permission named the file alone: what would be written was told before it.
  const [asked] = (await kim.call('approval.list', {})).approvals
  expect(asked?.input).toBe(`${join(repo, 'a.txt')}\n@@ written @@\n+Anna\n+`)
  expect(await claims()).toEqual(['Anna a.txt'])
  await world.answers('Anna', '1')
  await until(() => textOf('a.txt') === 'Anna\n')
  for (const times of [1, 2]) {
    await send('Bert', 'writes a.txt')
    await until(() => outcomes('Bert', 'a.txt').length === times)
  }
  expect(outcomes('Bert', 'a.txt')).toEqual(['no', 'no'])
  expect(await waiting('Bert')).toBe(0)
  expect(textOf('a.txt')).toBe('Anna\n')
  const words = /Anna is editing a\.txt \(since .* UTC\)\. Your edit was not made\. To ask: relay_send\(to="Anna"\)/
  await until(() => world.submitted('Bert').some((text) => words.test(text)))
  await until(() => world.submitted('Anna').some((text) => text.includes('Bert wanted to edit a.txt')))
  expect(await facts('claim.denied')).toHaveLength(2)
  expect(notices.filter((cause) => cause.startsWith('claim/Anna/'))).toHaveLength(1)
  await kim.call('claim.drop', { cwd: repo, files: ['a.txt'] })
  await send('Bert', 'writes a.txt')
  await until(async () => (await waiting('Bert')) === 1)
  await world.answers('Bert', '1')
  await until(() => textOf('a.txt') === 'Bert\n')
})

test('an edit that was not asked about claims its file too, and its holder is told of that of another', async () => {
  await send('Anna', 'slips b.txt')
  await until(async () => (await claims()).includes('Anna b.txt'))
  await send('Bert', 'slips b.txt')
  await until(() => world.submitted('Anna').some((text) => text.includes('Bert has edited b.txt')))
  expect((await facts('claim.passed')).map(({ fact }) => fact)).toMatchObject([{ agent: 'Bert', why: 'late' }])
  expect(await claims()).toContain('Anna b.txt')
})

test('what is allowed only after somebody else has the file in hand is denied all the same', async () => {
  await send('Bert', 'writes c.txt')
  await until(async () => (await waiting('Bert')) === 1)
  await kim.call('claim.drop', { cwd: repo, files: ['c.txt'] })
  await send('Anna', 'slips c.txt')
  await until(async () => (await claims()).includes('Anna c.txt'))
  await world.answers('Bert', '1')
  await until(() => outcomes('Bert', 'c.txt').length === 1)
  expect(outcomes('Bert', 'c.txt')).toEqual(['no'])
  expect(textOf('c.txt')).toBe('Anna\n')
})

test('a git command that would sweep what another edits is denied once, with the list, and a person is asked the next time', async () => {
  await send('Anna', 'slips d.txt')
  await until(async () => (await claims()).includes('Anna d.txt'))
  await send('Bert', "runs 'git stash'")
  await until(() => outcomes('Bert', 'git stash').length === 1)
  expect(await waiting('Bert')).toBe(0)
  await until(() => world.submitted('Bert').some((text) => text.includes('`git stash` would touch files that others')))
  await send('Bert', "runs 'git stash'")
  await until(async () => (await waiting('Bert')) === 1)
  await world.answers('Bert', '3')
  await until(() => outcomes('Bert', 'git stash').length === 2)
})

test('of hundreds of edits at once each is answered once, whether or not its turn ends meanwhile', async () => {
  const files = Array.from({ length: waitingPermissionsMax * 3 }, (_, n) => `many/${n}.txt`)
  await send('Anna', files.map((file) => `writes ${file}`).join(' '))
  const answered = () => files.flatMap((file) => outcomes('Anna', file))
  await until(() => answered().length >= waitingPermissionsMax * 2)
  await world.types('Anna', '\x03')
  await until(() => answered().length === files.length)
  expect(answered().filter((outcome) => outcome === 'no')).toHaveLength(waitingPermissionsMax * 2)
  expect(answered().filter((outcome) => outcome === 'cancelled')).toHaveLength(waitingPermissionsMax)
  expect(world.log('Anna').filter(({ event }) => event === 'answered-twice')).toEqual([])
})

test('nothing went wrong that nobody was told of', () => expect(world.troubles).toEqual([]))
