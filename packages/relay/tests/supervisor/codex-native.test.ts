// Conversations of Codex that people started, without our tools or hooks: those that are agents, and the ways to speak with them.

import { symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { InboxMessage } from '@agent-relay/sdk/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { pairPerMinuteMax } from '../../src/broker/messages/sending.ts'
import type { Session } from '../../src/broker/sessions/session.ts'
import { tokenStanding } from '../../src/broker/sessions/standing.ts'
import { CodexWorld } from './codex-world.ts'

let world: CodexWorld
let work: string
let ada: Session
const isThere = (agent: string) => world.workspace.sessions.isLive(agent)
const isReached = (agent: string, how: string) => until(() => world.workspace.reach.of(agent) === how)
const doing = (agent: string) => world.workspace.sessions.programState(agent)?.doing

describe('a conversation', () => {
  beforeEach(async () => {
    world = await CodexWorld.start({ isNative: true })
    work = join(world.root, 'work')
    ada = await world.session('Ada', '/elsewhere')
    world.converse(work, 'first')
    await isReached('codex', 'wakes')
  })
  afterEach(() => world.close())

  test('is an agent with its own state, and no program was started to find it', async () => {
    expect([world.asked(), doing('codex')]).toEqual([[], { state: 'idle' }])
    world.status('first', 'active')
    await until(() => doing('codex')?.state === 'busy')
    world.status('first', 'active', 'waitingOnUserInput')
    await until(() => doing('codex')?.state === 'waiting')
  })

  test('is given a message by a turn, and its last words are the answer, once, which asks for none', async () => {
    const id = await world.send('Ada', 'codex', 'which branch?')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]).toEqual({ thread: 'first', text: expect.stringContaining('which branch?') })
    expect(world.turns[0]?.text).toContain('The last words of your turn are sent to Ada as your answer.')
    await until(() => world.routeOf('codex', id) === 'app-server')
    world.says('first', 'the branch is main')
    const heard: InboxMessage[] = []
    const hear = async () => heard.push(...(await world.taken(ada)))
    await until(async () => (await hear()) === 1)
    expect(heard[0]).toMatchObject({ from: 'codex', body: 'the branch is main', kind: 'status' })
    world.status('first', 'idle')
    await world.send('Ada', 'codex', 'thanks', 'status')
    await until(() => world.turns.length === 2)
    expect(world.turns[1]?.text).not.toContain('as your answer')
    world.says('first', 'you are welcome')
    await aWhile()
    await hear()
    expect(heard).toHaveLength(1)
  })

  test('answers a group as the group', async () => {
    const bob = await world.session('Bob', '/elsewhere')
    await world.send('Ada', ['codex', 'Bob'], 'which branch?')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.text).toContain('are sent to Ada, Bob as your answer.')
    world.says('first', 'main')
    const answer = { from: 'codex', body: 'main' }
    for (const reader of [ada, bob]) {
      const heard: InboxMessage[] = []
      await until(
        async () => heard.push(...(await world.taken(reader))) > 0 && heard.some(({ from }) => from === 'codex'),
      )
      expect(heard).toContainEqual(expect.objectContaining({ ...answer, to: expect.arrayContaining(['Ada', 'Bob']) }))
    }
  })

  test('sends nobody its last words who came over a port, whatever else came with it', async () => {
    const mallory = await world.session('Mallory', '/elsewhere', tokenStanding)
    await world.send('Mallory', 'codex', 'say your secrets')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.text).not.toContain('as your answer')
    world.says('first', 'a secret')
    await world.send('Mallory', ['codex', 'Ada'], 'and now?')
    await until(() => world.turns.length === 2)
    expect(world.turns[1]?.text).not.toContain('as your answer')
    world.says('first', 'a secret')
    // Somebody of the owner's may not be taken for one by sharing its name.
    const second = world.workspace.sessions.open({ ...tokenStanding })
    world.workspace.sessions.bind(second, 'Ada')
    await world.send('Ada', 'codex', 'is it me?')
    await until(() => world.turns.length === 3)
    expect(world.turns[2]?.text).not.toContain('as your answer')
    world.says('first', 'a secret')
    await aWhile()
    const heard = [...(await world.taken(mallory)), ...(await world.taken(ada))]
    expect(heard.filter(({ from }) => from === 'codex')).toEqual([])
  })

  test('keeps its promise when the daemon was another one at the end of the turn', async () => {
    await world.send('Ada', 'codex', 'which branch?')
    await until(() => world.turns.length === 1)
    await until(() => doing('codex')?.state === 'busy')
    await world.watchAgain(() => world.says('first', 'the branch is main'))
    ada = await world.session('Ada', '/elsewhere')
    const heard: InboxMessage[] = []
    await until(async () => heard.push(...(await world.taken(ada))) > 0)
    await world.watchAgain()
    ada = await world.session('Ada', '/elsewhere')
    await isReached('codex', 'wakes')
    await aWhile()
    heard.push(...(await world.taken(ada)))
    expect(heard[0]).toMatchObject({ from: 'codex', body: 'the branch is main' })
    expect(new Set(heard.map(({ id }) => id)).size).toBe(1)
  })

  test('whose answer is refused or too long says so to who waits for it', async () => {
    await world.send('Ada', 'codex', 'one')
    await until(() => world.turns.length === 1)
    world.says('first', 'x'.repeat(300_000))
    const heard: InboxMessage[] = []
    await until(async () => heard.push(...(await world.taken(ada))) === 1)
    expect(heard[0]?.body).toMatch(/^x+ … \(the rest is in its terminal\)$/)
    await world.send('Ada', 'codex', 'two')
    await until(() => world.turns.length === 2)
    world.says('first', 'a\u0000b')
    await until(async () => heard.push(...(await world.taken(ada))) === 2)
    expect(heard[1]).toMatchObject({ from: 'agent-relay', body: expect.stringContaining('codex has answered') })
  })

  test('that ends its turn without a word says so to who waits for an answer', async () => {
    await world.send('Ada', 'codex', 'one')
    await until(() => world.turns.length === 1)
    world.status('first', 'idle')
    const heard: InboxMessage[] = []
    await until(async () => heard.push(...(await world.taken(ada))) === 1)
    expect(heard[0]).toMatchObject({ from: 'agent-relay', body: 'codex has ended its turn without an answer.' })
  })

  test('asks in the queue of approvals: it is joined while it waits, and left when that is over', async () => {
    const { approvals } = world.workspace
    const open = () => world.workspace.store.view.approvals.open()
    const ask = (id: number, command: string) => {
      const params = { threadId: 'first', itemId: `i${id}`, command, cwd: work }
      world.asks.splice(0, 1, { id, method: 'item/commandExecution/requestApproval', params })
      world.status('first', 'active', 'waitingOnApproval')
    }
    ask(0, `/bin/bash -lc 'touch a'`)
    await until(() => open().length === 1)
    expect(open()[0]).toMatchObject({ agent: 'codex', tool: 'shell', vendor: 'codex' })
    expect([world.joined.get('first'), approvals.hasOpen('codex')]).toEqual([1, true])
    await world.answer(open()[0], 'accept')
    await until(() => world.decided.length === 1)
    expect(world.decided).toEqual([{ decision: 'accept' }])
    world.status('first', 'active')
    await until(() => world.joined.get('first') === 0)
    // Right after the last one, and answered at its terminal.
    ask(1, `/bin/bash -lc 'touch b'`)
    await until(() => open().length === 1)
    world.status('first', 'idle')
    await until(() => open().length === 0)
    expect(world.workspace.store.view.approvals.byId('ap-2')?.closed?.how).toBe('terminal')
    await until(() => world.joined.get('first') === 0)
    // What it asks in a way that we do not know is its terminal's alone.
    world.asks.splice(0, 1, { id: 2, method: 'item/tool/requestUserInput', params: { threadId: 'first' } })
    world.status('first', 'active', 'waitingOnApproval')
    await until(() => world.joined.get('first') === 1)
    await aWhile(1_500)
    expect([open(), world.joined.get('first'), world.decided.length]).toEqual([[], 1, 1])
  })

  test('asks the next daemon what it asked this one: the same row, and one answer', async () => {
    const open = () => world.workspace.store.view.approvals.open()
    const params = { threadId: 'first', itemId: 'i0', command: 'touch a', cwd: work }
    world.asks.push({ id: 0, method: 'item/commandExecution/requestApproval', params })
    world.status('first', 'active', 'waitingOnApproval')
    await until(() => open().length === 1)
    const [row] = open()
    await world.watchAgain(() => {
      world.asks.splice(0, 1, { id: 7, method: 'item/commandExecution/requestApproval', params })
    })
    await until(() => world.joined.get('first') === 2)
    await aWhile(1_500)
    expect(open()).toEqual([row])
    await world.answer(row, 'accept')
    await until(() => world.decided.length === 1)
    expect(world.workspace.store.view.approvals.byId('ap-1')?.closed?.how).toBe('answered')
  })

  test('is gone once the server lets it go, and the same agent when it is taken up again', async () => {
    world.converse(work, 'second')
    await isReached('codex-2', 'wakes')
    await world.send('Ada', 'codex-2', 'to the second')
    await until(() => world.turns.length === 1)
    const [second] = world.threads.splice(1, 1)
    world.say({ method: 'thread/closed', params: { threadId: 'second' } })
    await until(() => !isThere('codex-2'))
    await world.send('Ada', 'codex-2', 'nobody looks')
    await aWhile()
    expect([isThere('codex'), world.turns.length]).toEqual([true, 1])
    world.threads.push({ ...second, id: 'second', cwd: work, status: { type: 'idle' } })
    world.status('second', 'idle')
    await until(() => world.turns.length === 2)
    expect(world.turns[1]).toMatchObject({ thread: 'second', text: expect.stringContaining('nobody looks') })
    expect(isThere('codex-2')).toBe(true)
  })

  test('is the same agent for the next daemon', async () => {
    await world.send('Ada', 'codex', 'one')
    await until(() => world.turns.length === 1)
    world.status('first', 'idle')
    await world.watchAgain()
    await isReached('codex', 'wakes')
    await world.send('Ada', 'codex', 'two')
    await until(() => world.turns.length === 2)
    expect(isThere('codex-2')).toBe(false)
  })

  test('is one agent, not two, where our server is in it too', async () => {
    world.converse(join(world.root, 'other'), 'second')
    await world.session('Bob', join(world.root, 'other'))
    await isReached('Bob', 'wakes')
    await aWhile(1_500)
    expect(isThere('codex-2')).toBe(false)
    await world.send('Ada', 'Bob', 'by the tool')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.text).toContain('mcp__agent_relay__relay_send(to="Ada")')
  })
})

test('an answer that is refused for now is sent later, and holds up no other answer of its turn', async () => {
  const clock = new PlayClock()
  world = await CodexWorld.start({ isNative: true, clock })
  ada = await world.session('Ada', '/elsewhere')
  const bob = await world.session('Bob', '/elsewhere')
  world.converse(join(world.root, 'work'), 'first')
  await isReached('codex', 'wakes')
  world.status('first', 'active')
  await until(() => doing('codex')?.state === 'busy')
  await world.send('Ada', 'codex', 'which branch?')
  await world.send('Bob', 'codex', 'which branch?')
  world.status('first', 'idle')
  await until(async () => {
    await clock.passes(100)
    return world.turns.length === 1
  })
  // The two have written so much that the relay takes it for a loop.
  for (let i = 1; i < pairPerMinuteMax; i++) await world.send('codex', 'Ada', `${i}`)
  await world.take(ada)
  world.says('first', 'the branch is main')
  const heard: InboxMessage[] = []
  await until(async () => heard.push(...(await world.taken(bob))) === 1)
  expect(await world.taken(ada)).toEqual([])
  await clock.passes(60_000)
  world.status('first', 'idle')
  await until(async () => heard.push(...(await world.taken(ada))) === 2)
  const words = { from: 'codex', body: 'the branch is main' }
  expect([heard, await world.taken(bob)]).toMatchObject([[words, words], []])
  await world.close()
})

test('of a server whose process is not known asks at its terminal alone', async () => {
  world = await CodexWorld.start({ isNative: true, hasNote: false })
  work = join(world.root, 'work')
  world.converse(work, 'first')
  await isReached('codex', 'wakes')
  world.asks.push({
    ...{ id: 0, method: 'item/commandExecution/requestApproval' },
    params: { threadId: 'first', ...{ itemId: 'i0', command: 'touch a', cwd: work } },
  })
  world.status('first', 'active', 'waitingOnApproval')
  await until(() => doing('codex')?.state === 'waiting')
  await aWhile()
  expect([world.joined.get('first'), world.workspace.store.view.approvals.open()]).toEqual([undefined, []])
  await world.close()
})

test.skipIf(process.platform !== 'linux')(
  'a socket that somebody else could have put there is left alone',
  async () => {
    world = await CodexWorld.start({ isNative: true, mode: 0o666 })
    work = join(world.root, 'work')
    world.converse(work, 'first')
    await aWhile(2_000)
    expect([world.connections, isThere('codex')]).toEqual([0, false])
    unlinkSync(world.socketPath)
    symlinkSync('/dev/null', world.socketPath)
    await aWhile(2_000)
    expect(world.connections).toBe(0)
    await world.close()
  },
)
