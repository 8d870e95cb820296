// Sessions over HTTP that were given a name and did not choose one: theirs while they live, stored only once they send or are sent something.

import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../../test/until.ts'
import { freeNameOf } from '../../../src/core/name-family.ts'
import { CoreWorld, outcomeOf } from '../../core/core-world.ts'
import { HttpWorld, textOf } from '../../wires/http-world.ts'

describe('a family of names: agent, agent-2, agent-3', () => {
  test('with 10,000 names taken, a free one is found in a few steps', () => {
    for (const count of [1, 2, 3, 10, 9_999, 10_000, 10_001]) {
      const taken = new Set(['agent', ...Array.from({ length: count - 1 }, (_, i) => `agent-${i + 2}`)])
      let looks = 0
      const isTaken = (name: string) => {
        looks++
        return taken.has(name)
      }
      expect(freeNameOf('agent', isTaken)).toBe(`agent-${count + 1}`)
      expect(looks).toBeLessThan(40)
    }
  })

  test('whatever names are taken, a free number is found and no name is too long', () => {
    const world = new CoreWorld()
    for (const name of ['agent', 'x'.repeat(64)]) {
      for (let i = 0; i < 50; i++) world.register(name, { mayRetake: false })
      expect(outcomeOf(world.register(name, { mayRetake: false })).agent).toMatch(/^(agent|x{58})-51$/)
    }
    // Beyond the walk for an offline name that may be retaken, too.
    for (let i = 1; i <= 1_200; i++) world.live.add(i === 1 ? 'busy' : `busy-${i}`)
    expect(outcomeOf(world.register('busy')).agent).toBe('busy-1201')
    const longest = freeNameOf('y'.repeat(64), (each) => !/-\d{7}$/.test(each))
    expect(longest).toMatch(/^y{56}-\d{7}$/)
  })

  test('the name of a live session counts as taken, even if no agent of that name is stored', () => {
    const world = new CoreWorld()
    world.live.add('codex').add('codex-2')
    expect(outcomeOf(world.register('codex')).agent).toBe('codex-3')
    expect(outcomeOf(world.register('codex', { proven: true })).agent).toBe('codex')
  })
})

describe.each(['2025', 'sse'] as const)('over %s', (era) => {
  let world: HttpWorld
  let ada: Client
  beforeAll(async () => {
    world = await HttpWorld.start()
    ada = await world.client(era, world.as('Ada'))
  })
  afterAll(async () => {
    expect(world.troubles).toEqual([])
    await world.stop()
  })
  const nameless = () => world.client(era, { authorization: `Bearer ${world.key}` }, { name: 'codex-mcp-client' })
  const nameOf = async (client: Client) => /Agent Name: (\S+)/.exec(await textOf(client, 'relay_status'))?.[1] as string
  const stored = async () => (await world.api('workspace.status')).body.agents as number
  const listed = async () =>
    (await world.api('agent.list', { includeOffline: true })).body.agents as {
      name: string
      id: string
      unread: number
    }[]

  test('a session that only looks around leaves nothing behind, and its name is free for the next', async () => {
    const before = await stored()
    for (let round = 0; round < 3; round++) {
      const clients = await Promise.all(Array.from({ length: 20 }, nameless))
      const names = await Promise.all(clients.map(nameOf))
      expect(new Set(names).size).toBe(20)
      expect(names.every((name) => /^codex(-\d+)?$/.test(name) && Number(name.slice(6) || 1) <= 20)).toBe(true)
      expect(await textOf(clients[0] as Client, 'relay_who')).toContain('codex-2')
      expect(await textOf(clients[0] as Client, 'relay_inbox')).toContain('No')
      expect((await listed()).filter(({ name }) => names.includes(name))).toHaveLength(20)
      for (const client of clients) {
        await (client.transport as { terminateSession?(): Promise<void> }).terminateSession?.()
        await client.close()
      }
      await until(async () => !(await listed()).some(({ name }) => name.startsWith('codex')))
    }
    expect(await stored()).toBe(before)
  })

  test('a session that sends is stored under the name it was given, and keeps it', async () => {
    const client = await nameless()
    const name = await nameOf(client)
    const { id } = (await listed()).find((each) => each.name === name) as { id: string }
    const before = await stored()
    await textOf(client, 'relay_send', { to: 'Ada', message: 'hello' })
    expect(await stored()).toBe(before + 1)
    expect(await nameOf(client)).toBe(name)
    expect((await listed()).find((each) => each.name === name)).toMatchObject({ id })
    expect(await textOf(ada, 'relay_inbox')).toContain(name)
  })

  test('a session that is sent something finds it in its inbox, with what was said to everybody since it came', async () => {
    const client = await nameless()
    const name = await nameOf(client)
    const quiet = await nameless()
    const quietName = await nameOf(quiet)
    await textOf(ada, 'relay_send', { to: '#general', message: `to all, before ${name}` })
    expect((await listed()).find((each) => each.name === quietName)).toMatchObject({ unread: 1 })
    const before = await stored()
    const sent = await textOf(ada, 'relay_send', { to: name, message: 'to you alone' })
    expect(sent).not.toContain('not found')
    expect(await stored()).toBe(before + 1)
    const inbox = await textOf(client, 'relay_inbox')
    expect(inbox).toContain('to you alone')
    expect(inbox).toContain(`to all, before ${name}`)
    expect(await textOf(quiet, 'relay_inbox')).toContain(`to all, before ${name}`)
  })

  test('nobody else can take the name of a live session', async () => {
    const client = await nameless()
    const name = await nameOf(client)
    const token = await world.token('Thief')
    const strict = await world.api('agent.register', { name, strict: true }, { authorization: `Bearer ${token}` })
    expect([strict.status, strict.body.error.code]).not.toEqual([200, undefined])
    expect(await nameOf(client)).toBe(name)
  })
})
