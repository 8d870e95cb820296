// Connections without a credential: few, bounded, and never in the way of those with one.

import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { limits } from '@agent-relay/sdk/protocol'
import { afterEach, describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { until } from '../../../../test/until.ts'
import { HttpWorld, type Json } from './http-world.ts'

let world: HttpWorld
const ends: (() => void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) end()
  await world.stop()
})

/** Connected, and saying nothing but `bytes`. */
function stranger(bytes = ''): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(world.port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
    socket.once('close', () => socket.off('error', reject)).on('error', () => {})
    socket.resume()
    if (bytes !== '') socket.write(bytes)
    ends.push(() => socket.destroy())
  })
}

const strangers = (count: number, bytes?: string) => Promise.all(Array.from({ length: count }, () => stranger(bytes)))
const left = (sockets: Socket[]) => sockets.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed)

/** One that keeps its connection. */
function keeper(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  ends.push(() => agent.destroy())
  return agent
}

/** A call over the agent's own connection: its status, and the port it came from. */
function ask(agent: Agent, operation: string, input: object = {}, name = 'Ada') {
  return new Promise<{ status: number; from: number; body: Json; retryAfter?: string }>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...world.as(name) }
    const asked = request(`${world.url}/api/${operation}`, { method: 'POST', agent, headers }, (answer) => {
      const from = answer.socket.localPort as number
      let text = ''
      answer.setEncoding('utf8').on('data', (more) => {
        text += more
      })
      const retryAfter = answer.headers['retry-after']
      answer.on('end', () => resolve({ status: answer.statusCode as number, from, body: JSON.parse(text), retryAfter }))
    })
    asked.on('error', reject)
    asked.end(JSON.stringify(input))
  })
}

describe('connections without a credential are limited', () => {
  test.each([
    ['silent', ''],
    ['half a head', 'POST /api/agent.list HTTP/1.1\r\nHost: '],
    ['a body that does not come', 'POST /api/agent.list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{'],
  ])('%s: the longest waiting go first, and a caller with a key always finds a place', async (_, bytes) => {
    world = await HttpWorld.start({ connectionLimits: { strangersMax: 8, arrivalMs: 100 } })
    const known = keeper()
    const { from } = await ask(known, 'agent.list')
    const sockets = await strangers(40, bytes)
    await until(() => left(sockets).length <= 8)
    for (let i = 0; i < 3; i++) {
      const more = await strangers(20, bytes)
      expect(await ask(keeper(), 'agent.list')).toMatchObject({ status: 200 })
      await until(() => left(more).length <= 8)
    }
    // The known connection has not been touched by any of that.
    expect(await ask(known, 'agent.list')).toMatchObject({ status: 200, from })
  })

  test('a burst of callers is read before any is dropped', async () => {
    world = await HttpWorld.start()
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask(keeper(), 'agent.list')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ from }) => from)).size).toBe(300)
  })

  test('as many WebSockets before HELLO as are opened: the newest of them can still say it', async () => {
    world = await HttpWorld.start({ connectionLimits: { strangersMax: 8, arrivalMs: 100 } })
    const open = async () => {
      const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws`)
      ends.push(() => ws.terminate())
      await new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject))
      return ws
    }
    const waiting: WebSocket[] = []
    for (let i = 0; i < 30; i++) waiting.push(await open())
    const ws = await open()
    const frames: Json[] = []
    ws.on('message', (data) => frames.push(JSON.parse(String(data))))
    ws.send(JSON.stringify({ v: 1, type: 'HELLO', id: 'h', ts: 0, payload: { key: world.key, name: 'Late' } }))
    await until(() => frames.length > 0)
    expect(frames[0]).toMatchObject({ type: 'WELCOME' })
    await until(() => waiting.filter(({ readyState }) => readyState === WebSocket.OPEN).length <= 8)
    expect(ws.readyState).toBe(WebSocket.OPEN)
  })
})

describe('connections with a credential have a limit of their own', () => {
  test('the one that has been at rest longest makes room; where all are at work the next is told so', async () => {
    world = await HttpWorld.start({ connectionLimits: { knownMax: 3 } })
    const [first, second, third, fourth] = [keeper(), keeper(), keeper(), keeper()] as const
    const before = [await ask(first, 'agent.list'), await ask(second, 'agent.list'), await ask(third, 'agent.list')]
    expect(await ask(fourth, 'agent.list')).toMatchObject({ status: 200 })
    expect((await ask(second, 'agent.list')).from).toBe(before[1]?.from)
    expect((await ask(first, 'agent.list')).from).not.toBe(before[0]?.from)
    const wait = { to: 'Bob', body: 'well?', wait: { timeoutMs: 60_000 } }
    await world.token('Bob')
    const waiting = ['A', 'B', 'C'].map((name) => {
      const agent = new Agent({ keepAlive: true })
      ends.push(() => agent.destroy())
      return ask(agent, 'message.send', wait, name).catch(() => {})
    })
    await until(async () => {
      const { status, body, retryAfter } = await ask(keeper(), 'agent.list')
      if (status === 200) return false
      expect([status, body.error.code, retryAfter]).toEqual([503, 'connections.full', '1'])
      return true
    })
    for (const end of ends.splice(0)) end()
    await Promise.all(waiting)
    await until(async () => (await ask(keeper(), 'agent.list')).status === 200)
  })
})

describe('/ws before HELLO', () => {
  const opened = async () => {
    const ws = new WebSocket(`${world.url.replace('http', 'ws')}/ws`)
    ends.push(() => ws.terminate())
    const frames: Json[] = []
    ws.on('message', (data) => frames.push(JSON.parse(String(data))))
    ws.on('error', () => {})
    const closed = new Promise((resolve) => ws.on('close', resolve))
    await new Promise((resolve) => ws.on('open', resolve))
    return { ws, frames, closed }
  }
  const frame = (type: string, payload: object) => JSON.stringify({ v: 1, type, id: 'f', ts: 0, payload })

  test.each([
    ['one message', false],
    ['pieces of one that never ends', true],
  ])('more than 64 KiB are not taken: %s', async (_, isCut) => {
    world = await HttpWorld.start({ websocketLimits: { helloMs: 60_000 } })
    const { ws, frames, closed } = await opened()
    const piece = Buffer.alloc(16 * 1024, 'x')
    if (isCut) for (let i = 0; i < 5; i++) ws.send(piece, { fin: false })
    else ws.send(Buffer.alloc(limits.helloBytesMax + 1, 'x'))
    await closed
    expect(frames.map(({ type }) => type)).not.toContain('WELCOME')
    if (isCut) expect(frames[0]).toMatchObject({ type: 'BYE', payload: { refusal: { code: 'frame.too-large' } } })
  })

  test('after HELLO a message may be as long as any line', async () => {
    world = await HttpWorld.start()
    const { ws, frames } = await opened()
    ws.send(frame('HELLO', { key: world.key, name: 'Ada' }))
    await until(() => frames.length === 1)
    ws.send(frame('CALL', { op: 'message.send', input: { to: 'Ada', body: 'x'.repeat(8 * 1024 * 1024) } }))
    await until(() => frames.length === 2)
    expect(frames[1]).toMatchObject({ type: 'ERROR', payload: { code: 'input.invalid' } })
  })
})
