// Claude Code as a person starts it with our tools: woken by a message when idle, also after a turn that was broken off, between two calls of tools
// when busy, after the answer when it asks for permission, all by its own socket; our cost is printed. With Agent Relay broken it is in
// absent.test.ts, and without our tools in native-claude.test.ts.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { median, OwnWorld } from './own-world.ts'

const claude = clis.find(({ name }) => name === 'claude') as Cli
const installed = install(claude)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''
const agent = 'claude-code'
const isReady = /\? for shortcuts|manual mode/

describe.skipIf(reason)('started by hand, and configured by `mcp install --yes` alone', () => {
  let world: OwnWorld
  let terminal: Awaited<ReturnType<OwnWorld['open']>>
  beforeAll(async () => {
    world = await OwnWorld.start(claude, folder)
    // Root may start it without permission questions only where it says that nothing can be broken.
    world.env.IS_SANDBOX = '1'
    terminal = await world.open('--permission-mode', 'default')
    await terminal.shows(isReady)
    await until(async () => (await world.reached(agent)) === 'wakes')
  })
  afterAll(() => world?.close())

  /** How often the model has been told of a message: its request repeats the whole conversation, so the newest one knows. */
  const timesTold = (id: string) => JSON.stringify(world.asked.at(-1)?.body).split(`[${id}]`).length - 1
  const does = async () => (await world.peer.call('agent.list', {})).agents.find(({ name }) => name === agent)?.doing
  const waiters = () =>
    readdirSync(join(world.env.RELAY_DATA_DIR as string, 'hooks')).filter((name) => /^\d+\.\d+$/.test(name))
  const isIdle = () => until(async () => !/esc to interrupt/.test(await terminal.screen()))

  test('idle: a message reaches the model, and the receipt says how', async () => {
    const before = world.asked.length
    await sleep(3_000)
    expect(world.asked.length).toBe(before)
    const times: number[] = []
    for (let i = 0; i < 10; i++) {
      const { id, ms } = await world.sendAndSee(agent, `ping ${i}!`)
      times.push(ms)
      await until(async () => (await world.route(id)) === 'peer')
      await isIdle()
      await sleep(500)
    }
    console.log(`idle Claude Code: median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}`)
    // One wake-up, one request.
    expect(world.asked.length - before).toBe(10)
  })

  test('no waiter stands beside it, and none is left after a turn', async () => {
    await until(() => waiters().length === 0)
    await terminal.enter('say something')
    await isIdle()
    await sleep(2_000)
    expect(waiters()).toEqual([])
  })

  test('busy: with the result of the tool that runs, and nothing that runs is cut off', async () => {
    await terminal.enter('use Bash {"command":"sleep 4; echo done >made","description":"work"}')
    await terminal.shows(/Do you want to proceed/)
    // A dialog takes no key in its first moments.
    await sleep(1_000)
    await terminal.type('\r')
    await sleep(500)
    const asked = world.asked.length
    const { id, ms } = await world.sendAndSee(agent, 'while you work')
    expect(ms).toBeGreaterThan(1_000)
    expect(existsSync(join(world.work, 'made'))).toBe(true)
    expect(world.asked.slice(asked).findIndex(({ heard }) => heard?.text.includes('while you work'))).toBe(0)
    expect(world.seen('while you work')?.heard?.results).toHaveLength(1)
    expect(timesTold(id)).toBe(1)
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
    await isIdle()
  })

  test('with an open permission, or another dialog: after it is answered', async () => {
    await terminal.enter('use Bash {"command":"touch allowed","description":"work"}')
    await terminal.shows(/Do you want to proceed/)
    await until(async () => (await does())?.for === 'permission prompt')
    const { id } = await world.peer.send(agent, 'while you ask')
    await sleep(2_000)
    expect(world.seen('while you ask')).toBeUndefined()
    expect(await terminal.screen()).not.toContain('while you ask')
    await terminal.type('\r')
    await until(() => world.seen('while you ask') !== undefined)
    expect([existsSync(join(world.work, 'allowed')), timesTold(id)]).toEqual([true, 1])
    await isIdle()
    await terminal.enter('/model')
    await terminal.shows(/Esc to cancel/)
    await until(async () => (await does())?.state === 'waiting')
    await world.peer.send(agent, 'while you choose')
    await sleep(2_000)
    expect(world.seen('while you choose')).toBeUndefined()
    await terminal.type('\u001b')
    await until(() => world.seen('while you choose') !== undefined)
    await isIdle()
  })

  test('200 messages while it goes busy and idle at random: each is offered once', async () => {
    const ids = await world.sendWhileBusy(agent, terminal)
    await until(
      async () => (await Promise.all(ids.map((id) => world.route(id)))).every((route) => route !== undefined),
      120_000,
    )
    await until(() => ids.every((id) => timesTold(id) > 0))
    expect(ids.filter((id) => timesTold(id) !== 1)).toEqual([])
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
  })

  test('after a restart of the daemon: as before', async () => {
    await isIdle()
    world.relay('daemon', 'restart')
    await until(async () => (await world.reached(agent).catch(() => '')) === 'wakes')
    const { id } = await world.sendAndSee(agent, 'from the next daemon')
    await until(async () => (await world.route(id)) === 'peer')
    await isIdle()
  })

  test('where the daemon is not to look at such sessions: by a waiter, from the next turn on', async () => {
    world.relay('daemon', 'stop')
    world.env.RELAY_WATCH_SESSIONS = 'off'
    world.relay('daemon', 'start', '--project', 'play')
    await until(async () => (await world.reached(agent).catch(() => '')) !== undefined)
    await terminal.enter('say something else')
    await until(() => waiters().length === 1)
    await isIdle()
    const { id } = await world.sendAndSee(agent, 'through the waiter')
    await until(async () => (await world.route(id)) === 'rewake')
    await isIdle()
    delete world.env.RELAY_WATCH_SESSIONS
    world.relay('daemon', 'restart')
    await until(async () => (await world.reached(agent).catch(() => '')) === 'wakes')
    await until(() => waiters().length === 0)
  })

  test('started without permission questions: a message comes by its hooks, and its person is not asked about it', async () => {
    const other = await world.open('--permission-mode', 'bypassPermissions')
    await other.shows(/Yes, I accept/)
    await sleep(1_000)
    await other.type('\u001b[B')
    await other.shows(/❯ Yes, I accept/)
    await other.type('\r')
    const name = `${agent}-2`
    await until(async () => (await world.reached(name)) === 'wakes')
    await until(() => waiters().length === 1)
    const { id } = await world.sendAndSee(name, 'nobody asks')
    await until(async () => (await world.route(id)) === 'rewake')
    expect(await other.screen()).not.toContain('Held message')
    await sleep(1_000)
    await other.enter('/exit')
    await until(async () => (await world.reached(name)) === undefined)
  })

  test('woken for a turn that fails, or that the person breaks off: the next message wakes it again, once', async () => {
    const send = async (body: string) => (await world.sendAndSee(agent, body)).id
    const ids = [await send('refuse this')]
    await terminal.shows(/API Error: 400/)
    ids.push(await send('the model can go on'))
    await isIdle()
    ids.push(await send('slow 40'))
    await terminal.shows(/word3/)
    await terminal.type('\u001b')
    await terminal.shows(/Interrupted/)
    ids.push(await send('after it was broken off'))
    expect(ids.map(timesTold)).toEqual([1, 1, 1, 1])
    await isIdle()
    // And from then on as before.
    const { id } = await world.sendAndSee(agent, 'idle as ever')
    await until(async () => (await world.route(id)) === 'peer')
    expect(timesTold(id)).toBe(1)
  })
})

/** As many hooks and servers as ours, which do nothing: Claude Code takes its time for them too, such as to wait for a server's tools. */
function doingNothing(world: OwnWorld): Record<string, string | undefined> {
  const own = world.contents(['.claude.json', '.claude/settings.json'])
  const settings = JSON.parse(own['.claude/settings.json'] as string, (key, value) =>
    key === 'command' ? 'exec true' : value,
  )
  const [launcher, idle] = ['data/bin/agent-relay-mcp', 'idle-server'].map((path) => join(world.root, path))
  // Without what it leads to, the launcher answers from the shell.
  const text = readFileSync(launcher as string, 'utf8').replace(/^script=.*$/m, "script='/nowhere'")
  writeFileSync(idle as string, text, { mode: 0o755 })
  return {
    '.claude.json': own['.claude.json']?.replaceAll(launcher as string, idle as string),
    '.claude/settings.json': JSON.stringify(settings),
  }
}

test.skipIf(reason)('a run that ends by itself, `claude -p`, with us and without', async () => {
  const world = await OwnWorld.withoutUs(claude, folder)
  try {
    const before = world.contents(['.claude.json', '.claude/settings.json'])
    world.install()
    const idle = doingNothing(world)
    const hooks = await world.compare({ '.claude/settings.json': idle['.claude/settings.json'] }, '-p', 'say hello')
    const others = await world.compare(idle, '-p', 'say hello')
    const all = await world.compare(before, '-p', 'say hello')
    const told = { 'hooks that do nothing': hooks, 'hooks and a server that do nothing': others, neither: all }
    for (const [than, text] of Object.entries(told)) console.log(`claude -p, against ${than}: ${text}`)
  } finally {
    await world.close()
  }
})
