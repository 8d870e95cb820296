// Waking Codex sessions that people started, through Codex's own background server: the right conversation, time and number.

import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { PlayClock } from '../../../../test/plays/clock.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { CodexWorld } from './codex-world.ts'

let world: CodexWorld
const isReached = (agent: string, how: string) => until(() => world.workspace.reach.of(agent) === how)

const shown = (agent: string) => world.workspace.sessions.programState(agent)

async function ada(): Promise<void> {
  await world.session('Ada', '/elsewhere')
}

afterEach(() => {
  vi.useRealTimers()
  return world.close()
})

describe('a session in the only directory that fits', () => {
  beforeEach(async () => {
    world = await CodexWorld.start()
    world.threads.push({ id: 'side', cwd: '/work', ephemeral: true, status: { type: 'idle' } })
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    world.threads.push({ id: 'helper', cwd: '/work', parentThreadId: 'main', status: { type: 'idle' } })
    await ada()
  })

  test('is woken by a message, once, and the receipt names the route', async () => {
    const session = await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    const id = await world.send('Ada', 'Bob', 'which branch?')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]).toEqual({ thread: 'main', text: expect.stringContaining('which branch?') })
    expect(world.turns[0]?.text).toContain('mcp__agent_relay__relay_send(to="Ada")')
    await until(() => world.routeOf('Bob', id) === 'app-server')
    world.status('main', 'idle')
    await aWhile()
    expect(world.turns).toHaveLength(1)
    // Idle, with nothing new in its inbox, it costs nothing: it comes to rest.
    for (let commands = -1; commands !== world.commands; await aWhile()) commands = world.commands
    // Put before the model is not read: its own tool still shows it.
    expect(await world.take(session)).toEqual([id])
  })

  test('gets what came while it was busy in one turn, at the end of the turn', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.status('main', 'active')
    for (const body of ['one', 'two', 'three']) await world.send('Ada', 'Bob', body)
    await aWhile()
    expect(world.turns).toEqual([])
    world.status('main', 'active', 'waitingOnApproval')
    await aWhile()
    expect(world.turns).toEqual([])
    world.status('main', 'idle')
    await until(() => world.turns.length === 1)
    for (const body of ['one', 'two', 'three']) expect(world.turns[0]?.text).toContain(body)
  })

  test('finds by its own tool what the server refused, and is not woken with it again', async () => {
    const session = await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.refuses = true
    const id = await world.send('Ada', 'Bob', 'refused')
    await until(() => shown('Bob')?.note === 'Codex has refused the last message')
    expect(world.workspace.reach.of('Bob')).toBe('at next call')
    await until(async () => (await world.take(session)).includes(id))
    expect([world.turns, world.routeOf('Bob', id)]).toEqual([[], 'tool'])
  })

  test('is shown as what its conversation does, and given nothing while that waits', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    expect(shown('Bob')).toMatchObject({ doing: { state: 'idle' }, note: undefined })
    const states = [
      [[], { state: 'busy' }],
      [['waitingOnApproval'], { state: 'waiting', for: 'approval' }],
      [['waitingOnUserInput'], { state: 'waiting', for: 'an answer' }],
    ] as const
    for (const [flags, doing] of states) {
      world.status('main', 'active', ...flags)
      await until(() => isDeepStrictEqual(shown('Bob')?.doing, doing))
    }
    await world.send('Ada', 'Bob', 'while it waits')
    await aWhile()
    expect(world.turns).toEqual([])
    world.status('main', 'systemError')
    await until(() => world.turns.length === 1)
  })

  test('whose memory was compacted is told its situation with what comes next, once', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.compact('main')
    await until(() => world.workspace.briefs.isDue('Bob'))
    await aWhile()
    expect(world.turns).toEqual([])
    for (const body of ['one', 'two']) {
      await world.send('Ada', 'Bob', body)
      await until(() => world.turns.at(-1)?.text.includes(body) === true)
      world.status('main', 'idle')
    }
    const briefed = world.turns.map(({ text }) => text.split('Relay brief: you are Bob.').length - 1)
    expect(briefed).toEqual([1, 0])
    expect(world.workspace.briefs.isDue('Bob')).toBe(false)
  })

  test('gets its brief with the mail that waited for the end of a compaction', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.status('main', 'active')
    await world.send('Ada', 'Bob', 'waited')
    world.compact('main')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.text).toMatch(/Relay brief: you are Bob\.[\s\S]*waited/)
  })

  test('is woken after a turn that failed, too', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.status('main', 'active')
    await world.send('Ada', 'Bob', 'after the failure')
    world.status('main', 'systemError')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.text).toContain('after the failure')
  })

  test('is reached at its next call once its conversation is closed, or the server ends', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.threads.splice(1, 1)
    world.say({ method: 'thread/closed', params: { threadId: 'main' } })
    await isReached('Bob', 'at next call')
    expect(await world.send('Ada', 'Bob', 'stays')).toBeTruthy()
  })

  test('survives whatever the server sends', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    for (const text of [
      '',
      'null',
      '[]',
      '{"method":7}',
      '{"id":99,"result":1}',
      '{"method":"thread/started","params":{}}',
    ])
      world.say(text)
    world.say({ method: 'thread/status/changed', params: { threadId: 'main', status: { type: 'flying' } } })
    // A question to the person: an answer of ours would decide for them.
    world.say({ id: 0, method: 'item/commandExecution/requestApproval', params: { threadId: 'main' } })
    await world.send('Ada', 'Bob', 'still there?')
    await until(() => world.turns.length === 1)
    world.say(`"${'x'.repeat(9 * 1024 * 1024)}"`)
    await until(() => world.connections === 0)
    await isReached('Bob', 'at next call')
  })
})

test('2,000 idle minutes cost no turn, and a message wakes the session after them', async () => {
  const clock = new PlayClock()
  world = await CodexWorld.start({ clock })
  world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
  await ada()
  await world.session('Bob', '/work')
  await isReached('Bob', 'wakes')
  await clock.passes(2_000 * 60_000)
  await aWhile()
  expect([world.turns, world.connections, world.asked()]).toEqual([[], 1, ['app-server daemon version']])
  await world.send('Ada', 'Bob', 'still there?')
  await until(async () => {
    await clock.passes(100)
    return world.turns.length === 1
  })
  expect(world.turns[0]?.text).toContain('still there?')
})

describe('a session whose server does not answer', () => {
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'], shouldAdvanceTime: true })
    world = await CodexWorld.start()
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    await ada()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('has the message once, if the conversation shows it', async () => {
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.silence = 'takes'
    const id = await world.send('Ada', 'Bob', 'slowly')
    await until(() => world.turns.length === 1)
    expect(world.routeOf('Bob', id)).toBeUndefined()
    vi.advanceTimersByTime(11_000)
    await until(() => world.routeOf('Bob', id) === 'app-server')
    world.status('main', 'idle')
    vi.advanceTimersByTime(60_000)
    await aWhile()
    expect(world.turns).toHaveLength(1)
  })

  test.each([
    ['takes and hangs up', 1],
    ['hangs up', 0],
  ] as const)('because it %s: the next connection finds out', async (silence, taken) => {
    const bob = await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    world.silence = silence
    const id = await world.send('Ada', 'Bob', 'lost?')
    await until(() => world.connections === 0)
    // Nobody knows, so nobody else hands it out.
    expect([world.turns.length, await world.take(bob)]).toEqual([taken, []])
    // Once ours has noticed, too, it waits for the time of the next connection.
    await isReached('Bob', 'at next call')
    world.silence = undefined
    vi.advanceTimersByTime(31_000)
    await until(() => world.routeOf('Bob', id) === 'app-server')
    world.status('main', 'idle')
    await aWhile()
    expect(world.turns).toHaveLength(1)
  })
})

describe('two sessions in one directory', () => {
  test('are told apart by the conversation that their calls name, and not woken before', async () => {
    world = await CodexWorld.start()
    for (const id of ['first', 'second']) world.threads.push({ id, cwd: '/work', status: { type: 'idle' } })
    await ada()
    const bob = await world.session('Bob', '/work')
    await world.session('Cy', '/work')
    await until(() => world.connections === 1)
    await world.send('Ada', 'Bob', 'to Bob')
    await aWhile()
    expect([world.turns, world.workspace.reach.of('Bob')]).toEqual([[], 'at next call'])
    world.workspace.sessions.setCalledThread(bob, 'second')
    await until(() => world.turns.length === 1)
    expect(world.turns[0]?.thread).toBe('second')
    // What is left fits: one session, one conversation.
    await isReached('Cy', 'wakes')
    await world.send('Ada', 'Cy', 'to Cy')
    await until(() => world.turns.length === 2)
    expect(world.turns[1]?.thread).toBe('first')
  })

  test('the first, matched before the second came, stays matched, and so the second is', async () => {
    world = await CodexWorld.start()
    world.threads.push({ id: 'first', cwd: '/work', status: { type: 'idle' } })
    await ada()
    await world.session('Bob', '/work')
    await isReached('Bob', 'wakes')
    const second = { id: 'second', cwd: '/work', ephemeral: false, status: { type: 'idle' } }
    world.threads.push(second)
    world.say({ method: 'thread/started', params: { thread: second } })
    await world.session('Cy', '/work')
    await isReached('Cy', 'wakes')
    await world.send('Ada', 'Cy', 'to Cy')
    await world.send('Ada', 'Bob', 'to Bob')
    await until(() => world.turns.length === 2)
    const of = (text: string) => world.turns.find((turn) => turn.text.includes(text))?.thread
    expect([of('to Bob'), of('to Cy')]).toEqual(['first', 'second'])
  })

  test('nobody is asked again and again while it is not known which is which, or one is gone', async () => {
    world = await CodexWorld.start()
    for (const id of ['first', 'second']) world.threads.push({ id, cwd: '/work', status: { type: 'idle' } })
    await world.session('Bob', '/work')
    const cy = await world.session('Cy', '/work')
    await until(() => shown('Bob')?.note === 'its conversation is not known yet')
    world.workspace.sessions.setCalledThread(cy, 'gone')
    await until(() => (world.heard.get('thread/read') ?? 0) > 3)
    await aWhile(1_000)
    const before = [...world.heard.values()].reduce((sum, each) => sum + each)
    await aWhile(1_000)
    expect([...world.heard.values()].reduce((sum, each) => sum + each)).toBe(before)
  })

  test('a call that names a conversation of Codex with itself wakes nobody', async () => {
    world = await CodexWorld.start()
    world.threads.push({ id: 'side', cwd: '/work', ephemeral: true, status: { type: 'idle' } })
    await ada()
    const bob = await world.session('Bob', '/work')
    world.workspace.sessions.setCalledThread(bob, 'side')
    await until(() => world.connections === 1)
    await world.send('Ada', 'Bob', 'for the person')
    await aWhile()
    expect([world.turns, world.workspace.reach.of('Bob')]).toEqual([[], 'at next call'])
  })
})

test('a server that hangs up, or says nonsense, while it is greeted costs nothing but the waking', async () => {
  for (const greeting of ['hangs up', 'nonsense'] as const) {
    world = await CodexWorld.start()
    world.greeting = greeting
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    await world.session('Bob', '/work')
    await until(() => world.greeted === 1)
    await until(() => world.connections === 0)
    await aWhile()
    expect(world.workspace.reach.of('Bob')).toBe('at next call')
    if (greeting === 'hangs up') await world.close()
  }
})

test('a version that nobody has tried is used, since it answers as expected', async () => {
  world = await CodexWorld.start({ version: '9.0.0' })
  world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
  await world.session('Bob', '/work')
  await isReached('Bob', 'wakes')
})

test.each(['initialize', 'thread/loaded/list', 'thread/read', 'thread/items/list'])(
  'a server whose answer to %s is another one is left alone, and the list of agents says why',
  async (method) => {
    world = await CodexWorld.start()
    world.strange = method
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    await world.session('Bob', '/work')
    await until(() => shown('Bob')?.note !== undefined)
    expect(shown('Bob')).toEqual({ note: `version 0.166.0: its answer to ${method} is not as expected` })
    expect(world.workspace.reach.of('Bob')).toBe('at next call')
    await until(() => world.connections === 0)
  },
)

test('a server that could not be found, for it was slow, is looked for again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  world = await CodexWorld.start()
  await ada()
  world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
  const program = join(world.root, 'bin/codex')
  const script = readFileSync(program, 'utf8')
  writeFileSync(program, script.replace(/\necho '\{.*/, '\nexit 1'))
  await world.session('Bob', '/work')
  await vi.advanceTimersByTimeAsync(300)
  await until(() => world.asked().length > 0)
  writeFileSync(program, script)
  await until(async () => {
    await vi.advanceTimersByTimeAsync(1_000)
    return world.connections > 0
  })
  expect(world.asked().length).toBeGreaterThan(1)
})

describe('no connection is made', () => {
  const nothingHappens = async () => {
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    await world.session('Bob', '/work')
    await until(() => world.asked().length === 1)
    await aWhile()
    expect([world.connections, world.workspace.reach.of('Bob')]).toEqual([0, 'at next call'])
    expect(world.asked()).toEqual(['app-server daemon version'])
  }

  test('to a socket that others may write to', async () => {
    world = await CodexWorld.start({ mode: 0o666 })
    await nothingHappens()
  })

  test('to a socket in a folder that others may write to', async () => {
    world = await CodexWorld.start()
    chmodSync(dirname(world.socketPath), 0o777)
    await nothingHappens()
  })

  test('and no program is started, while no session of Codex is there', async () => {
    world = await CodexWorld.start()
    const { sessions } = world.workspace
    const session = sessions.open({ door: 'owner', rank: 'owner', kind: 'model', hasKey: false })
    sessions.markInitialized(session, 'claude')
    await aWhile()
    expect([world.asked(), world.connections]).toEqual([[], 0])
    // The last one leaves, and so does the connection.
    world.threads.push({ id: 'main', cwd: '/work', status: { type: 'idle' } })
    const bob = await world.session('Bob', '/work')
    await until(() => world.connections === 1)
    sessions.end(bob)
    await until(() => world.connections === 0)
  })
})
