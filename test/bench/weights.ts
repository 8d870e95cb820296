// Memory and work that a careless client could make the daemon spend: lines without an end, readers that do not read, programs that do not
// read; the waiter beside an idle session; and V8's memory for a daemon.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { residentMb } from '@agent-relay/prove/harness/processes'
import { RawConnection } from '@agent-relay/prove/harness/raw'
import { AcpWire } from 'agent-relay/dist/supervisor/control/acp-wire.js'
import { openPty } from 'agent-relay/dist/supervisor/pty.js'
import { bareEnv, temporaryFolder } from './child.ts'
import { startRelay } from './relay.ts'
import { withSource } from './sources.ts'
import { against, type Measure } from './table.ts'

const root = new URL('../../../', import.meta.url)
const mebibyte = 1024 * 1024
const watchedMs = 1_000

export async function measureWeights(): Promise<Measure[]> {
  return [
    await measureWaiter(),
    await measureReader(),
    await measureEndless(),
    measureBytewise(),
    await measureTerminal(),
    ...(await measureHeap()),
  ]
}

interface PipeWorlds {
  PipeWorld: {
    start(): Promise<{
      root: string
      client(name: string): Promise<{ callTool(call: object): Promise<unknown> }>
      env(more: object): Record<string, string>
      close(): Promise<void>
    }>
  }
}

/** What a hook leaves beside an idle session; this process is the host of both. */
function measureWaiter(): Promise<Measure> {
  return withSource('packages/mcp/tests/pipe-world.ts', async ({ PipeWorld }: PipeWorlds) => {
    const world = await PipeWorld.start()
    const bare = spawn('sh', ['-c', 'read line; :'], { stdio: ['pipe', 'ignore', 'ignore'] })
    const env = world.env({ CLAUDE_CODE_SESSION_ATTENDED: '1' })
    const client = await world.client('claude-code')
    await client.callTool({ name: 'relay_status', arguments: {} })
    const command = `exec ${join(world.root, 'bin/agent-relay-mcp')} hook wait --cli claude Stop`
    const waiter = spawn('sh', ['-c', command], { env, cwd: world.root, stdio: ['pipe', 'ignore', 'ignore'] })
    waiter.stdin.on('error', () => {}).end('{}\n')
    try {
      const isThere = () => readdirSync(join(world.root, 'hooks')).includes(`${process.pid}.${waiter.pid}`)
      while (!isThere()) {
        if (waiter.exitCode !== null) throw new Error(`the waiter ended with ${waiter.exitCode}`)
        await sleep(50)
      }
      // It looks once before it waits.
      await sleep(watchedMs)
      const [value, floor] = [residentMb(waiter.pid as number), residentMb(bare.pid as number)]
      return against('what waits beside an idle session, resident', { value, floor, unit: 'MB', max: 4 })
    } finally {
      for (const child of [waiter, bare]) child.kill('SIGTERM')
      await world.close()
    }
  })
}

/** Over a WebSocket: 24 MB for somebody who reads nothing of it. */
async function measureReader(): Promise<Measure> {
  const relay = await startRelay([], { hasHttp: true })
  try {
    const [sender, reader] = [await relay.client('sender'), await RawConnection.openWebSocket(relay.url as string)]
    await reader.ask('HELLO', { key: relay.key })
    await reader.call('event.follow', {})
    const send = () => sender.send('#general', 'x'.repeat(200 * 1024))
    for (let i = 0; i < 60; i++) await send()
    const floor = residentMb(relay.pid)
    reader.socket.pause()
    for (let i = 0; i < 120; i++) await send()
    const value = residentMb(relay.pid)
    await reader.end()
    return against('a WebSocket that nobody reads, resident', { value, floor, unit: 'MB', max: 2 })
  } finally {
    await relay.stop()
  }
}

interface Lines {
  mcpLineBytesMax: number
  LineTransport: new (out: { write(): void; end(): void }) => { receive(bytes: Uint8Array): void; onerror(): void }
}

/** The floor is what the longest line that is allowed has. */
function measureEndless(): Promise<Measure> {
  return withSource('packages/mcp/src/line-transport.ts', async ({ mcpLineBytesMax, LineTransport }: Lines) => {
    const transport = new LineTransport({ write: () => {}, end: () => {} })
    transport.onerror = () => {}
    const before = process.memoryUsage().arrayBuffers
    for (let bytes = 0; bytes < 5 * mcpLineBytesMax; bytes += mebibyte)
      transport.receive(new Uint8Array(mebibyte).fill(0x61))
    const value = (process.memoryUsage().arrayBuffers - before) / mebibyte
    const floor = mcpLineBytesMax / mebibyte
    return against('a line of MCP without an end, kept', { value, floor, unit: 'MB', max: 3 })
  })
}

function measureBytewise(): Measure {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const kept = () => {
    gc()
    const { heapUsed, external } = process.memoryUsage()
    return (heapUsed + external) / mebibyte
  }
  const [stdin, stdout] = [new PassThrough(), new PassThrough()]
  new AcpWire(stdin, stdout, { onRequest() {}, onStray() {}, onStuck() {}, onNotification() {} })
  const before = kept()
  for (let i = 0; i < mebibyte; i++) stdout.emit('data', Buffer.from([0x20]))
  return against('1 MB of ACP that comes byte by byte, kept', {
    value: Math.max(0, kept() - before),
    floor: 1,
    unit: 'MB',
    max: 30,
  })
}

/** Of the event loop's time in a second: neither held up in a call nor spinning. */
async function measureTerminal(): Promise<Measure> {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color' }
  const args = ['-c', 'stty raw -echo; echo up; exec sleep 600']
  const terminal = await openPty({ file: '/bin/sh', args, cwd: '/', env, cols: 120, rows: 40 })
  const exited = new Promise((resolve) => terminal.onExit(resolve))
  await new Promise<void>((resolve) => terminal.onData(() => resolve()))
  const before = performance.eventLoopUtilization()
  const written = terminal.write('y'.repeat(1_000_000))
  await sleep(watchedMs)
  const { utilization } = performance.eventLoopUtilization(before)
  process.kill(terminal.pid, 'SIGKILL')
  await Promise.all([exited, written])
  const told = { value: 100 * utilization, floor: 100, unit: '%', max: 0.2 }
  return against('1 MB for a program that does not read, of the event loop', told)
}

/** In megabytes; the reader judges, as a version of Node may take more. */
async function measureHeap(): Promise<Measure[]> {
  const rows: Measure[] = []
  for (const [ask, measure, max] of [
    ['size', 'young objects after the start', 4],
    ['work', 'young objects under work', 32],
  ] as const) {
    const mb = await heapMb(ask)
    const value = `${mb.toFixed(1)} MB`
    rows.push({ measure: `a daemon's ${measure}`, value, limit: `<= ${max} MB`, isMet: mb <= max, lagMs: 0 })
  }
  return rows
}

async function heapMb(ask: 'size' | 'work'): Promise<number> {
  const folder = temporaryFolder()
  const env = bareEnv({ HOME: folder, RELAY_DATA_DIR: folder })
  const path = fileURLToPath(new URL('packages/relay/tests/cli/heap-daemon.mjs', root))
  const child: ChildProcess = fork(path, ['daemon', 'run', '--port', '0'], { cwd: folder, env, silent: true })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  while (!readdirSync(folder).includes('control.sock')) await sleep(50)
  await sleep(watchedMs)
  child.send(ask)
  const ended = once(child, 'exit')
  const [mb] = await Promise.race([
    once(child, 'message'),
    ended.then(([code]) => {
      throw new Error(`the daemon ended with ${code} when it was asked for ${ask}`)
    }),
  ])
  process.off('exit', kill)
  kill()
  await ended
  return Number(mb)
}
