// Lines through the pipe, seen from a daemon that a test plays by hand: only whole ones, bounded, replayed and swallowed.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { RawPipe } from '@agent-relay/prove/harness/pipe'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aWhile, until } from '../../../test/until.ts'
import { FakeDaemon, obliging } from './pipe-fake.ts'
import { PipeWorld } from './pipe-world.ts'

const MiB = 1024 * 1024

let world: PipeWorld
let daemon: FakeDaemon
let pipe: RawPipe
beforeEach(async () => {
  world = new PipeWorld()
  daemon = new FakeDaemon(join(world.root, 'fake.sock'))
  await daemon.listen()
  pipe = world.pipe({ RELAY_SOCKET: daemon.path, RELAY_TOOLS: 'relay', RELAY_PUSH: 'channel' })
})
afterEach(async () => {
  await daemon.die()
  await world.close()
})

/** Dies and is there again, as another. */
async function restart(): Promise<void> {
  await daemon.die()
  await daemon.listen()
}

describe('lines', () => {
  test('one that comes in pieces is passed on whole, and characters are not cut', async () => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 'ä', method: 'tools/call', params: { name: '🚀é' } })
    const bytes = Buffer.from(`${text}\n`)
    for (let at = 0; at < bytes.length; at += 7) {
      await new Promise((resolve) => pipe.child.stdin?.write(bytes.subarray(at, at + 7), resolve))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await pipe.answer('ä')).result).toEqual({})
    expect((await daemon.session(0)).lines).toEqual([JSON.parse(text)])
  })

  test('several at once stay several, and blank ones are nothing', async () => {
    const ask = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })
    pipe.write(`${ask(1)}\n\n  \r\n${ask(2)}\r\n${ask(3)}\n`)
    for (const id of [1, 2, 3]) expect((await pipe.answer(id)).result).toEqual({})
  })

  test('what the relay says to the pipe itself never reaches the host', async () => {
    await pipe.ask('ping')
    const session = await daemon.session(0)
    session.envelope('WELCOME', { agent: 'Ada', token: 'at_1' })
    session.say({ method: 'notifications/message' })
    await until(() => pipe.lines.length === 2)
    expect(JSON.stringify(pipe.lines)).not.toContain('Ada')
  })

  test('nor in the first moments, whatever comes along with it', async () => {
    daemon.script = ({ id }, session) => {
      if (id !== 0) return
      const welcome = { v: 1, type: 'WELCOME', id: 'pipe', ts: 0, payload: { agent: 'Ada' } }
      const question = { jsonrpc: '2.0', id: 5, method: 'elicitation/create' }
      const answer = { jsonrpc: '2.0', id: 0, result: { late: true } }
      session.raw([welcome, welcome, question, answer, welcome].map((line) => `${JSON.stringify(line)}\n`).join(''))
    }
    pipe.write('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\n{"jsonrpc":"2.0","id":1,')
    expect((await pipe.answer(0)).result).toEqual({ late: true })
    expect(pipe.lines).toHaveLength(2)
    pipe.write('"method":"ping"}\n')
    pipe.say({ id: pipe.lines[0].id, result: { action: 'accept' } })
    const session = await daemon.session(0)
    await until(() => session.lines.length === 3)
    expect(session.lines.slice(1)).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', id: 5, result: { action: 'accept' } },
    ])
  })

  test('the half line of a daemon that dies is dropped; its call is sent again and answered once', async () => {
    const whole = JSON.stringify({ jsonrpc: '2.0', id: 0, result: { text: 'x'.repeat(3 * MiB) } })
    daemon.script = ({ id }, session) => void (id === 0 && session.raw(whole.slice(0, 2 * MiB)))
    pipe.post('tools/call', { name: 'relay_inbox' })
    const first = await daemon.session(0)
    await until(() => first.lines.length === 1 && first.socket.writableLength === 0)
    daemon.script = (line, session) => (line.id === 0 ? session.raw(`${whole}\n`) : obliging(line, session))
    await restart()
    expect((await pipe.answer(0)).result.text).toHaveLength(3 * MiB)
    expect(pipe.lines.filter(({ id }) => id === 0)).toHaveLength(1)
  })

  test('one of 12 MiB passes, a longer one is refused by its id or dropped with a word', async () => {
    const big = 'x'.repeat(12 * MiB)
    const atEnd = `{"method":"tools/call","params":{"x":"${big}"},"jsonrpc":"2.0","id":"b\\"1"}`
    const atStart = `{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"x":"${big}"}}`
    const inside = `{"method":"tools/call","params":{"x":"${big}","id":9}}`
    pipe.write(`${atEnd}\n${atStart}\n${inside}\n`)
    for (const id of ['b"1', 7]) {
      expect((await pipe.answer(id)).error).toEqual({
        code: -32600,
        message: `A line may have at most ${12 * MiB} bytes`,
      })
    }
    await until(() => pipe.stderr.includes('dropped'))
    expect(pipe.stderr).toBe(
      `agent-relay-mcp: A line may have at most ${12 * MiB} bytes: one from the host was dropped.\n`,
    )
    pipe.post('tools/call', { x: 'x'.repeat(11 * MiB) })
    expect((await pipe.answer(0)).result).toEqual({})
    expect(pipe.lines.some(({ id }) => id === 9)).toBe(false)
  })
})

describe('slow ends', () => {
  test('a daemon that does not read: the host has to wait, and goes on with the next daemon', async () => {
    daemon.script = (_, session) => session.socket.pause()
    pipe.post('ping')
    await daemon.session(0)
    const size = 64 * 1024
    const count = 200
    for (let i = 0; i < count; i++) pipe.post('tools/call', { name: 'relay_send', arguments: 'x'.repeat(size) })
    await aWhile()
    // A pipe that took it all would hold 12 MB of it.
    expect(pipe.child.stdin?.writableLength).toBeGreaterThan(8 * MiB)
    daemon.script = obliging
    await restart()
    for (let id = 0; id <= count; id++) expect((await pipe.answer(id)).result).toEqual({})
  })

  test('a host that does not read: the daemon has to wait, and nothing is lost', async () => {
    await pipe.ask('ping')
    pipe.child.stdout?.pause()
    const { socket } = await daemon.session(0)
    const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'n', params: randomBytes(MiB / 2).toString('base64') })}\n`
    const count = 24
    for (let i = 0; i < count; i++) socket.write(line)
    await aWhile()
    expect(socket.writableLength).toBeGreaterThan(line.length * (count - 6))
    pipe.child.stdout?.resume()
    await until(() => pipe.lines.length === count + 1)
  })
})

describe('a new daemon', () => {
  test('is told who we are and where we stand; the answers to that are ours', async () => {
    await pipe.initialize('claude-code')
    await pipe.ask('resources/subscribe', { uri: 'relay://inbox' })
    await pipe.ask('resources/subscribe', { uri: 'relay://agents' })
    await pipe.ask('resources/unsubscribe', { uri: 'relay://agents' })
    await pipe.ask('logging/setLevel', { level: 'info' })
    const first = await daemon.session(0)
    const pipeId = expect.stringMatching(/^p_.{20}/)
    expect(first.hello).toEqual({
      pipe: pipeId,
      host: process.pid,
      cwd: expect.any(String),
      tools: 'relay',
      push: 'channel',
    })
    first.envelope('WELCOME', { agent: 'claude-code-2', token: 'at_2' })
    await pipe.ask('ping')
    const before = pipe.lines.length
    await restart()
    const second = await daemon.session(1)
    expect(second.hello).toEqual({ ...first.hello, name: 'claude-code-2', token: 'at_2' })
    await until(() => second.of('ping').length === 1)
    expect(second.lines.map(({ method, params }) => [method, params])).toEqual([
      ['initialize', first.lines[0].params],
      ['notifications/initialized', undefined],
      ['resources/subscribe', { uri: 'relay://inbox' }],
      ['logging/setLevel', { level: 'info' }],
      ['ping', undefined],
    ])
    await until(() => pipe.lines.length > before)
    await pipe.ask('ping')
    expect(pipe.lines.slice(before).map(({ method }) => method)).toEqual([
      'notifications/tools/list_changed',
      undefined,
    ])
  })

  test('gets what is unanswered again, in order and under the same ids, and knows which', async () => {
    daemon.script = (line, session) => void (line.method === 'initialize' && obliging(line, session))
    await pipe.initialize()
    const ids = ['a', 'b', 'c'].map((name) => pipe.postCall(name))
    const first = await daemon.session(0)
    await until(() => first.of('tools/call').length === 3)
    pipe.say({ method: 'notifications/cancelled', params: { requestId: ids[1] } })
    await until(() => first.of('notifications/cancelled').length === 1)
    await daemon.die()
    const late = pipe.postCall('d')
    daemon.script = obliging
    await daemon.listen()
    const second = await daemon.session(1)
    // The one that was called off was not answered either: the new daemon must not think so.
    expect(second.hello.calls.slice(0, 3)).toEqual([ids[1], ids[0], ids[2]])
    for (const id of [ids[0], ids[2], late]) expect((await pipe.answer(id as number)).result).toEqual({})
    expect(second.of('tools/call').map(({ params }) => params.name)).toEqual(['a', 'c', 'd'])
    expect(pipe.lines.some(({ id }) => id === ids[1])).toBe(false)
  })

  test('gets an unanswered initialize as it was, and initialized after it', async () => {
    daemon.script = () => {}
    pipe.post('initialize', { protocolVersion: '2025-11-25' })
    pipe.say({ method: 'notifications/initialized' })
    const first = await daemon.session(0)
    await until(() => first.lines.length === 2)
    daemon.script = obliging
    await restart()
    expect((await pipe.answer(0)).result.serverInfo.name).toBe('fake')
    const second = await daemon.session(1)
    await until(() => second.lines.length === 3)
    expect(second.lines.map(({ method }) => method)).toEqual(['ping', 'initialize', 'notifications/initialized'])
  })

  test('does not get what the host answers to the last one', async () => {
    await pipe.initialize()
    const first = await daemon.session(0)
    first.say({ id: 0, method: 'elicitation/create', params: { message: 'old' } })
    await until(() => pipe.lines.some(({ method }) => method === 'elicitation/create'))
    const asked = (message: string) => pipe.lines.find(({ params }) => params?.message === message)
    const old = asked('old')
    await restart()
    const second = await daemon.session(1)
    second.say({ id: 0, method: 'elicitation/create', params: { message: 'new' } })
    await until(() => asked('new') !== undefined)
    expect(pipe.lines).toContainEqual(
      expect.objectContaining({
        method: 'notifications/cancelled',
        params: expect.objectContaining({ requestId: old.id }),
      }),
    )
    expect(asked('new').id).not.toBe(old.id)
    pipe.say({ id: old.id, result: { action: 'decline' } })
    pipe.say({ id: asked('new').id, result: { action: 'accept' } })
    await until(() => second.lines.some(({ result }) => result?.action))
    expect(second.lines.filter(({ result }) => result)).toEqual([
      { jsonrpc: '2.0', id: 0, result: { action: 'accept' } },
    ])
    second.say({ id: 1, method: 'ping' })
    second.say({ method: 'notifications/cancelled', params: { requestId: 1 } })
    const of = (method: string) => pipe.lines.findLast((line) => line.method === method)
    await until(() => of('ping') && of('notifications/cancelled').params.requestId !== old.id)
    expect(of('notifications/cancelled').params.requestId).toBe(of('ping').id)
  })

  test('that asks to be tried again is; one that refuses is quoted', async () => {
    await pipe.initialize()
    await daemon.die()
    daemon.script = () => {}
    await daemon.listen()
    const second = await daemon.session(1)
    second.envelope('ERROR', { code: 'daemon.stopping', message: 'Stopping.', retry: true })
    second.socket.end()
    const third = await daemon.session(2)
    const waiting = pipe.postCall('relay_who')
    third.envelope('ERROR', { code: 'agent.name-taken', message: 'The name Ada is taken.' })
    third.socket.end()
    const text = 'Error: The name Ada is taken.\nThis call was not carried out.'
    expect((await pipe.answer(waiting)).result).toEqual({ content: [{ type: 'text', text }], isError: true })
    expect(await pipe.call('relay_who')).toBe(text)
    expect((await pipe.ask('prompts/list')).error.message).toBe('The name Ada is taken.')
  })

  test('that closed the workspace is quoted until it is open again, although nobody answers at its socket', async () => {
    await pipe.initialize()
    const first = await daemon.session(0)
    daemon.script = () => {}
    first.envelope('ERROR', { code: 'workspace.closed', message: 'Workspace "app" is not open.' })
    first.socket.end()
    await until(() => first.socket.destroyed)
    await daemon.die()
    expect(await pipe.call('relay_who')).toBe('Error: Workspace "app" is not open.\nThis call was not carried out.')
    daemon.script = obliging
    const { length } = daemon.sessions
    await daemon.listen()
    await until(() => daemon.sessions.length > length)
    expect(await pipe.ask('tools/list')).toMatchObject({ result: {} })
    await daemon.die()
    expect(await pipe.call('relay_who')).toContain('Relay daemon is not running.')
  })
})

test('a host can leave while the daemon stays away', async () => {
  await pipe.initialize()
  await daemon.die()
  pipe.postCall('relay_who')
  pipe.child.stdin?.end()
  expect((await pipe.ended).code).toBe(0)
})

test('a host that starts over is another pipe: its ids may start over, too', async () => {
  await pipe.initialize()
  const first = await daemon.session(0)
  first.envelope('WELCOME', { agent: 'Ada', token: 'at_1' })
  await pipe.ask('ping')
  const id = pipe.post('initialize', { protocolVersion: '2025-11-25' })
  expect((await pipe.answer(id)).result.serverInfo.name).toBe('fake')
  const second = await daemon.session(1)
  expect(second.hello).toMatchObject({ name: 'Ada', token: 'at_1' })
  expect(second.hello.pipe).not.toBe(first.hello.pipe)
  expect(second.of('initialize')).toHaveLength(1)
})
