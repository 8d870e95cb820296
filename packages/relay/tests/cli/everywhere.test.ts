// What a person at a terminal sees of all workspaces of the machine: `who`, `needs` and the feeds, and how they are narrowed. Pipes get one workspace.

import { RelayClient } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aWhile, until } from '../../../../test/until.ts'
import { loginName } from '../../src/cli/connection.ts'
import { World } from './cli-world.ts'

let world: World
const undo: (() => unknown)[] = []
beforeEach(async () => {
  world = new World()
  await world.serve()
  await world.run(['daemon', 'start'], { cwd: world.directory('shop') })
})
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
  await world.close()
})

const me = loginName()
const atTerminal = { columns: 120, env: { NO_COLOR: '1' } }

async function enter(workspace: string, agentName: string): Promise<RelayClient> {
  const connect = socketConnector(socketPathOf(world.dataDir, workspace))
  const client = new RelayClient({ connect, agentName, autoConnect: false })
  await client.connect()
  undo.push(() => client.disconnect())
  return client
}

test('who lists the agents of all workspaces by workspace, and is narrowed to one', async () => {
  await enter('shop', 'Ann')
  await enter('shop', 'Bob')
  await enter('app', 'Cy')
  const lines = (await world.run(['who'], atTerminal)).stdout.split('\n')
  expect(lines[0]).toMatch(/^WORKSPACE {2}NAME/)
  expect(lines.slice(1, 4).map((line) => line.slice(0, 9).trim())).toEqual(['app', 'shop', ''])
  const names = lines.slice(1, 4).map((line) => line.slice(11, 14).trim())
  expect([names[0], ...names.slice(1).sort()]).toEqual(['Cy', 'Ann', 'Bob'])
  for (const args of [
    ['who', '--here'],
    ['who', '--project', 'app'],
  ]) {
    const { stdout } = await world.run(args, atTerminal)
    expect(stdout).toContain('Cy')
    expect(stdout).not.toMatch(/Ann|WORKSPACE/)
  }
  // A pipe, a program and an agent get the one workspace.
  const asAgent = { ...atTerminal, env: { NO_COLOR: '1', RELAY_AGENT_NAME: 'Cy' } }
  for (const where of [{}, asAgent]) expect((await world.run(['who'], where)).stdout).not.toMatch(/Ann|WORKSPACE/)
  expect((await world.json<{ agents: unknown[] }>(['who'])).agents).toHaveLength(1)
})

test('where nobody is connected here, who says who is elsewhere; every line fits a narrow terminal', async () => {
  await enter('shop', 'An-agent-with-quite-a-long-name')
  const { stdout, stderr } = await world.run(['who'], { ...atTerminal, columns: 40 })
  expect(stdout).toContain('shop')
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(40)
  expect(stderr).toContain('Nobody has registered in app yet.')
})

test('what waits for the person elsewhere is said by needs and who', async () => {
  const ann = await enter('shop', 'Ann')
  await ann.send(me, 'May I deploy?', { kind: 'question' })
  const elsewhere = 'What needs you in other workspaces: 1 in shop. To see it: agent-relay needs --project shop\n'
  expect((await world.run(['needs'], atTerminal)).stderr).toBe(`Nothing needs you here. ${elsewhere}`)
  expect((await world.run(['who'], atTerminal)).stderr).toContain(elsewhere)
  expect((await world.run(['needs', '--project', 'shop'], atTerminal)).stdout).toContain('May I deploy?')
  expect((await world.run(['needs'])).stderr).not.toContain('shop')
})

test('a feed at a terminal shows each message of every workspace with its name, also of one that comes later', async () => {
  const feed = world.atTerminal(['tail', '--type', 'message.created'])
  const here = world.atTerminal(['tail', '--here', '--type', 'message.created'])
  undo.push(feed.end, here.end)
  await until(() => feed.shown().includes('Following all workspaces'))
  await until(() => here.shown().includes('Following app'))
  const [ann, cy] = [await enter('shop', 'Ann'), await enter('app', 'Cy')]
  await enter('shop', 'Bob')
  await ann.send('Bob', 'said in the shop')
  await cy.send('#general', 'said in the app')
  await until(() => feed.shown().includes('shop · Ann → Bob [free] "said in the shop"'))
  await until(() => feed.shown().includes('app · Cy → #general [free] "said in the app"'))
  await world.run(['workspace', 'create', 'later'])
  const dee = await enter('later', 'Dee')
  await dee.send('#general', 'said later \u001b[31m')
  await dee.disconnect()
  await until(() => feed.shown().includes('later · Dee → #general [free] "said later'))
  await until(() => here.shown().includes('said in the app'))
  expect(here.shown()).not.toMatch(/shop|later|·/)
  // Each message once, whatever comes and goes.
  await aWhile()
  expect(feed.shown().split('said in the shop')).toHaveLength(2)
  expect(feed.shown()).not.toContain('\u001b[31m')
})

test('events at a terminal are what was done; --all brings the deliveries too, and a program is given both', async () => {
  await world.run(['inbox', '--as', 'Ann'])
  await world.run(['send', 'Ann', 'Did it arrive?', '--as', 'Bo'])
  await world.run(['inbox', '--as', 'Ann'])
  const main = await world.run(['events', '--limit', '200'], atTerminal)
  expect(main.stdout).toContain('Did it arrive?')
  expect(main.stdout).not.toMatch(/offered to/)
  expect(main.stderr).toContain('To see them: agent-relay events --all')
  const all = await world.run(['events', '--all', '--limit', '200'], atTerminal)
  expect(all.stdout).toMatch(/offered to Ann/)
  expect(all.stderr).not.toContain('events --all')
  expect((await world.run(['events', '--limit', '200'])).stdout).toMatch(/offered to Ann/)
})
