// Limits of an ACP agent's data in the daemon's memory: of a permission the shown part, of a line its bytes.

import { PassThrough } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, onTestFinished, test } from 'vitest'
import { expectNoLeak } from '../../../../test/guard.ts'
import { until } from '../../../../test/until.ts'
import { AcpWire } from '../../src/supervisor/control/acp-wire.ts'
import { acpAgent, WorkerWorld } from './worker-world.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const mebibyte = 1024 * 1024

function heapBytes(): number {
  gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

test('of permissions that wait no more is kept than is shown, while the digest is of all', async () => {
  const world = await WorkerWorld.start()
  onTestFinished(() => world.stop())
  const command = [process.execPath, acpAgent, '--log', world.logPath('Wide')]
  await world.lead.call('worker.spawn', { name: 'Wide', cli: 'acp', command, cwd: world.root })
  await until(() => world.isReady('Wide'))
  const before = heapBytes()
  await world.lead.call('message.send', { to: 'Wide', body: `wide 1 ${4 * mebibyte - 1} wide 40 ${4 * mebibyte}` })
  const waiting = async () => (await world.lead.call('approval.list', {})).approvals
  await until(async () => (await waiting()).length === 1)
  const [first] = await waiting()
  await world.answers('Wide', '1')
  await until(async () => (await waiting()).length === 40)
  await until(() => heapBytes() - before < 60 * mebibyte)
  const [second] = await waiting()
  expect(second?.input).toBe(first?.input)
  expect(second?.digest).not.toBe(first?.digest)
  expect(world.troubles).toEqual([])
})

test('a line that comes byte by byte costs little more than its bytes, and is heard whole', () => {
  const heard: unknown[] = []
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const ignored = { onRequest() {}, onStray() {}, onStuck() {} }
  new AcpWire(stdin, stdout, { ...ignored, onNotification: (method, params) => void heard.push(method, params) })
  const text = 'x'.repeat(mebibyte)
  const line = Buffer.from(JSON.stringify({ jsonrpc: '2.0', method: 'm', params: { text } }))
  const before = heapBytes()
  for (const byte of line) stdout.emit('data', Buffer.from([byte]))
  expectNoLeak(heapBytes() - before, 10 * mebibyte)
  stdout.emit('data', Buffer.from('\n'))
  expect(heard).toEqual(['m', { text }])
})

test('a message that nests deeper than any does is passed over, and the next is heard', () => {
  const heard: string[] = []
  const strays: string[] = []
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  const ignored = { onRequest() {}, onStuck() {} }
  const onNote = (method: string) => void heard.push(method)
  new AcpWire(stdin, stdout, { ...ignored, onNotification: onNote, onStray: (text) => void strays.push(text) })
  stdout.emit('data', Buffer.from(`{"method":"deep","params":${'['.repeat(100_000)}${']'.repeat(100_000)}}\n`))
  stdout.emit('data', Buffer.from('{"method":"next"}\n'))
  expect(heard).toEqual(['next'])
  expect(strays).toEqual([expect.stringMatching(/^{"method":"deep"/)])
})
