// Many workspaces in one daemon: their cost while nobody uses them, that all can be reached, and the refusal when no more fit.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { residentMb } from '@agent-relay/prove/harness/processes'
import { RelayClient } from '@agent-relay/sdk'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { type Link, makeIds, socketConnector } from '@agent-relay/sdk/wire'
import { afterEach, expect, it } from 'vitest'
import { expectNoLeak, guardMs } from '../guard.ts'
import { sized } from '../size.ts'
import { until } from '../until.ts'

const count = Number(process.env.WORKSPACES ?? sized(15, 500))
/** For each workspace its socket; and the files of those few that are still open. */
const descriptorsMax = count + 300
/** Each kill comes somewhat later than the one before. */
const laterMs = 37
const grownMbUsual = 40

const launcher = fileURLToPath(new URL('../../packages/relay/bin/agent-relay.cjs', import.meta.url))
const nextId = makeIds()
const undo: (() => unknown)[] = []
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
})

interface House {
  dir: string
  child: ChildProcess
  control: Link
}

async function start(dir: string, hardLimit = 'unlimited'): Promise<House> {
  const { NODE_OPTIONS: _, ...rest } = process.env
  const env = { ...rest, HOME: dir, RELAY_DATA_DIR: dir, RELAY_PORT: '0' }
  const limit = hardLimit === 'unlimited' ? '' : `ulimit -n ${hardLimit}; `
  const args = ['-c', `${limit}exec "$0" "$@"`, process.execPath, launcher, 'daemon', 'run']
  const child = spawn('sh', args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] })
  undo.push(() => child.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    let log = ''
    child.once('exit', () => reject(new Error(log)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (/ runs, pid /.test(log)) resolve()
    })
  })
  const control = await socketConnector(controlSocketPath(dir))({})
  undo.push(() => control.close())
  return { dir, child, control }
}

function temporary(): string {
  const dir = mkdtempSync(join(tmpdir(), 'relay-500-'))
  undo.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const nameOf = (i: number) => `w${i}`
const open = ({ control }: House, workspace: string) => control.call('workspace.open', { workspace }, nextId('c'))

function weight({ child }: House): { descriptors: number; mb: number } {
  const descriptors = readdirSync(`/proc/${child.pid}/fd`).length
  return { descriptors, mb: Math.round(residentMb(child.pid)) }
}

async function client(dir: string, workspace: string, agentName: string): Promise<RelayClient> {
  const connect = socketConnector(socketPathOf(dir, workspace))
  const made = new RelayClient({ connect, agentName, autoConnect: false })
  await made.connect()
  return made
}

/** Those that nobody uses are closed, one by one; and all of them together cost little memory. */
async function expectLight(house: House, bareMb: number, when: string): Promise<void> {
  await until(() => weight(house).descriptors < descriptorsMax)
  const { descriptors, mb } = weight(house)
  console.log(`${count} workspaces, ${when}: ${descriptors} descriptors, ${mb} MB`)
  expectNoLeak(mb - bareMb, grownMbUsual)
}

it(`${count} workspaces that nobody uses cost a socket each`, { timeout: 7 * guardMs }, async () => {
  const dir = temporary()
  const house = await start(dir)
  const none = weight(house)
  console.log(`without workspaces: ${none.descriptors} descriptors, ${none.mb} MB`)
  for (let i = 0; i < count; i++) await open(house, nameOf(i))
  await expectLight(house, none.mb, 'just opened')
  // Each takes a message from another, acknowledged and there.
  const ada = await client(dir, nameOf(0), 'ada')
  const sent = await ada.send('*:*', 'to all')
  expect(sent).not.toHaveProperty('failed')
  await ada.disconnect()
  for (let i = 1; i < count; i++) {
    const bob = await client(dir, nameOf(i), 'bob')
    expect((await bob.call('workspace.status', {})).messages).toBe(1)
    await bob.disconnect()
  }
  await expectLight(house, none.mb, 'each visited')
  const ended = new Promise((resolve) => house.child.once('exit', resolve))
  await house.control.call('daemon.stop', {}, nextId('c'))
  await ended
  const from = performance.now()
  const next = await start(dir)
  console.log(`started again with them in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  await expectLight(next, none.mb, 'started again')
  const { workspaces } = await next.control.call('workspace.list', {}, nextId('c'))
  expect(workspaces.filter(({ open, name }) => open && name !== 'home')).toHaveLength(count)
  const late = await client(dir, nameOf(count - 1), 'bob')
  expect((await late.call('workspace.status', {})).messages).toBe(1)
  await late.disconnect()
})

it('at the limit of descriptors the refusal says so, and what is open goes on', async () => {
  // Node opens many files at once while it loads a program: with fewer the daemon may not come up at all.
  const [dir, limit] = [temporary(), sized('200', '260')]
  const house = await start(dir, limit)
  await open(house, 'first')
  const ada = await client(dir, 'first', 'ada')
  // Whoever is connected takes one too, and sooner than a workspace is opened.
  for (let i = 0; i < sized(120, 0); i++) {
    const idle = await socketConnector(controlSocketPath(dir))({})
    undo.push(() => idle.close())
  }
  let refused: { code?: string; message?: string } | undefined
  for (let i = 0; i < 400 && !refused; i++)
    refused = await open(house, nameOf(i)).then(
      () => undefined,
      (error) => error,
    )
  expect(refused).toMatchObject({ code: 'daemon.descriptors', message: expect.stringContaining('ulimit -n') })
  expect(refused?.message).toContain(limit)
  for (let i = 0; i < 50; i++) await ada.send('#general', `still ${i}`)
  expect((await ada.call('workspace.status', {})).messages).toBe(50)
  expect(house.child.exitCode).toBeNull()
  await ada.disconnect()
})

it('killed while some close and others open, nothing acknowledged is lost', { timeout: 3 * guardMs }, async () => {
  const dir = temporary()
  const [others, rounds] = [20, sized(1, 3)]
  const acknowledged = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    const house = await start(dir)
    await open(house, 'home')
    for (let i = 0; i < others; i++) await open(house, nameOf(i))
    const ada = await client(dir, 'home', 'ada')
    const ended = new Promise((resolve) => house.child.once('exit', resolve))
    // Each message opens a workspace and closes another: more are unused than stay open.
    const sending = (async () => {
      for (let i = 0; ; i++) {
        const name = nameOf(i % others)
        await ada.send(`${name}:*`, `round ${round}, ${i}`)
        acknowledged.set(name, (acknowledged.get(name) ?? 0) + 1)
      }
    })().catch(() => {})
    const sum = () => [...acknowledged.values()].reduce((a, b) => a + b, 0)
    await until(() => sum() > others * (round + 1))
    await sleep(round * laterMs)
    house.child.kill('SIGKILL')
    await ended
    await ada.disconnect()
    await sending
    await house.control.close()
  }
  const house = await start(dir)
  const sum = [...acknowledged.values()].reduce((a, b) => a + b, 0)
  console.log(`${sum} messages were acknowledged before the daemon was killed`)
  expect(sum).toBeGreaterThan(others)
  for (const [name, count] of acknowledged) {
    const bob = await client(house.dir, name, 'bob')
    expect((await bob.call('workspace.status', {})).messages).toBeGreaterThanOrEqual(count)
    await bob.disconnect()
  }
})
