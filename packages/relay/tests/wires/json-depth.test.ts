// JSON far deeper than anyone needs, on every wire: refused before it is parsed, and the next request is answered.

import { connect } from 'node:net'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { limits } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { until } from '../../../../test/until.ts'
import { HttpWorld, type Json } from './http-world.ts'

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const depths = [50_000, 5_000, limits.jsonDepthMax + 1]
const tooDeep = `nested deeper than ${limits.jsonDepthMax} levels`

let world: HttpWorld
beforeAll(async () => {
  world = await HttpWorld.start()
})
afterAll(async () => {
  expect(world.troubles).toEqual([])
  await world.stop()
})

describe.each(depths)('%d deep', (depth) => {
  test.each([
    ['/api/message.send', '{"to":"Bob","body":%}'],
    ['/api/action.invoke', '{"name":"any","input":%}'],
    ['/api/action.register', '{"name":"any","description":"x","inputSchema":{"type":%}}'],
    ['/api/agents', '{"contract":%}'],
  ])('%s', async (path, body) => {
    const { status, body: answer } = await world.post(path, body.replace('%', nested(depth)), world.as('Ada'))
    expect([status, answer.error.code]).toEqual([400, 'input.invalid'])
    expect(answer.error.message).toContain(tooDeep)
  })

  test.each([
    ['2025', {}, '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","x":%}}'],
    ['2026', { 'mcp-protocol-version': '2026-07-28' }, '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":%}'],
  ])('/mcp of %s', async (_, headers, body) => {
    const accept = 'application/json, text/event-stream'
    const asked = { ...world.as('Ada'), accept, ...headers }
    const { status, body: answer } = await world.post('/mcp', body.replace('%', nested(depth)), asked)
    expect([status, answer.error.code]).toEqual([400, -32700])
    expect(answer.error.message).toContain(tooDeep)
  })

  test('/messages of /sse', async () => {
    const { status } = await world.post('/messages?sessionId=none', nested(depth))
    expect(status).toBe(400)
  })

  const inputs = ['{"name":"any","input":%}', '{"name":"any","description":"x","inputSchema":%}']
  const calls = inputs.map(
    (input, i) =>
      `{"v":1,"type":"CALL","id":"c${i}","ts":0,"payload":{"op":"${i === 0 ? 'action.invoke' : 'action.register'}","input":${input.replace('%', nested(depth))}}}`,
  )
  const hello = () => JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: { name: 'Deep', key: world.key } })
  const ping = '{"v":1,"type":"PING","id":"p","ts":0,"payload":{}}'
  const expected = [
    { type: 'WELCOME' },
    ...calls.map(() => ({ type: 'ERROR', payload: { code: 'frame.invalid', details: { why: tooDeep } } })),
    { type: 'PONG' },
  ]

  test('/ws', async () => {
    const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws`)
    const frames: Json[] = []
    ws.on('message', (data) => frames.push(JSON.parse(String(data))))
    await new Promise((resolve) => ws.on('open', resolve))
    ws.send(hello())
    await until(() => frames.length === 1)
    for (const line of [...calls, ping]) ws.send(line)
    await until(() => frames.length === expected.length)
    expect(frames).toMatchObject(expected)
    ws.close()
  })

  test('the socket', async () => {
    const socket = connect(socketPathOf(world.dir, 'home'))
    let text = ''
    socket.setEncoding('utf8').on('data', (more) => {
      text += more
    })
    socket.write(`${hello()}\n`)
    await until(() => text.includes('WELCOME'))
    socket.write(`${[...calls, ping].join('\n')}\n`)
    await until(() => text.includes('PONG'))
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject(expected)
    socket.destroy()
  })

  test("a pipe's lines, answered under the call's own id", async () => {
    const socket = connect(socketPathOf(world.dir, 'home'))
    let text = ''
    socket.setEncoding('utf8').on('data', (more) => {
      text += more
    })
    const mcp = { pipe: `deep-pipe-${depth}`, name: 'DeepPipe' }
    socket.write(`${JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: { mcp } })}\n`)
    socket.write(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${nested(depth)}}\n`)
    socket.write(`{"method":"tools/call","params":${nested(depth)},"jsonrpc":"2.0","id":"eight"}\n`)
    socket.write('{"jsonrpc":"2.0","id":9,"method":"ping"}\n')
    await until(() => text.includes('"id":9'))
    const answers = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const id of [7, 'eight'])
      expect(answers.find((answer) => answer.id === id)).toMatchObject({ error: { code: -32700 } })
    socket.destroy()
  })
})

test('what fits on every wire also comes back: an action whose input is as deep as may be', async () => {
  const depth = limits.jsonDepthMax - 1
  const schema = { type: 'object' }
  const provider = new WebSocket(`${world.url.replace('http', 'ws')}/ws`)
  await new Promise((resolve) => provider.on('open', resolve))
  const say = (type: string, id: string, payload: object) =>
    provider.send(JSON.stringify({ v: 1, type, id, ts: 0, payload }))
  const heard: string[] = []
  provider.on('message', (data) => heard.push(String(data)))
  say('HELLO', 'h', { name: 'Provider', key: world.key })
  await until(() => heard.length === 1)
  say('CALL', 'r', {
    op: 'action.register',
    input: { name: 'deep.echo', description: 'x', inputSchema: schema, availableTo: ['Ada'] },
  })
  say('CALL', 'f', { op: 'action.follow', input: {} })
  await until(() => heard.length >= 3)
  const input = `{"name":"deep.echo","input":${nested(depth)},"timeoutMs":500}`
  const { status } = await world.post('/api/action.invoke', input, world.as('Ada'))
  expect(status).not.toBe(400)
  await until(() => heard.some((line) => line.includes(nested(depth))))
  provider.close()
})
