// A client that leaves, or takes a call back: nothing waits for it, however it named its calls.

import { encodeFrame, type FrameType } from '@agent-relay/sdk/protocol'
import { afterEach, expect, test } from 'vitest'
import { Connection, type ConnectionHandler } from '../../src/wires/connection.ts'

let signals: AbortSignal[] = []
let written: { type: string; id: string }[] = []
let asked: [string, unknown][] = []
afterEach(() => {
  signals = []
  written = []
  asked = []
})

const handler: ConnectionHandler = {
  hello: async () => ({
    welcome: {} as never,
    call: (op, input, _id, abandoned) =>
      new Promise((_resolve, reject) => {
        asked.push([op, input])
        if (!abandoned) return
        signals.push(abandoned)
        abandoned.addEventListener('abort', () => reject(new Error('given up')))
      }),
    watch: () => ({ seq: 0, drained() {}, stop() {} }),
    leave: () => {},
  }),
}

async function greeted(): Promise<Connection> {
  const carrier = { write: (line: string) => void written.push(JSON.parse(line)), end() {}, isReady: () => true }
  const connection = new Connection(handler, carrier as never, { pause() {}, resume() {} })
  receive(connection, 'HELLO', 'h', {})
  await new Promise(setImmediate)
  return connection
}

function receive(connection: Connection, type: FrameType, id: string, payload: unknown): void {
  connection.receive(JSON.parse(encodeFrame({ v: 1, type, id, ts: 0, payload }).toString()))
}

const ask = (connection: Connection, id: string) =>
  receive(connection, 'CALL', id, { op: 'message.search', input: { text: 'x' } })

test('a connection that closes gives up all its calls, even if many have the same id', async () => {
  const connection = await greeted()
  for (const id of ['same', 'same', 'same', 'other']) ask(connection, id)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false, false])
  connection.cleanUp()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true])
})

test('giving up one call does not affect the others', async () => {
  const connection = await greeted()
  for (const id of ['same', 'same', 'other']) ask(connection, id)
  receive(connection, 'BYE', 'b', { watch: 'same' })
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, false])
  await new Promise(setImmediate)
  expect(written.filter(({ type }) => type === 'ERROR').map(({ id }) => id)).toEqual(['same', 'same'])
  expect(connection.pending).toBe(1)
  connection.cleanUp()
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
})

test('the first names of calls, as the protocol was asked for, are calls', async () => {
  const connection = await greeted()
  receive(connection, 'SEND', '1', { to: 'Bob', content: 'hi', thread: 't' })
  receive(connection, 'INBOX', '2', { limit: 5, unread_only: true, from: 'Bob', channel: '#general' })
  receive(connection, 'WHO', '3', { include_idle: true })
  receive(connection, 'SPAWN', '4', { name: 'W', cli: 'claude', task: 'x', model: 'm', cwd: '/' })
  receive(connection, 'RELEASE', '5', { name: 'W', reason: 'done' })
  expect(asked).toMatchObject([
    ['message.send', { to: 'Bob', body: 'hi', thread: 't' }],
    ['inbox.take', { limit: 5, unreadOnly: true, from: 'Bob', channel: '#general' }],
    ['agent.list', { includeIdle: true }],
    ['worker.spawn', { name: 'W', cli: 'claude', task: 'x', model: 'm', cwd: '/' }],
    ['worker.release', { name: 'W', reason: 'done' }],
  ])
  connection.cleanUp()
})
