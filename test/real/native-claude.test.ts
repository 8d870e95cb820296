// Claude Code as a person starts it without our tools or hooks: only a daemon runs. Its sessions are agents with their own state, each message is
// in the model once, at a time that suits, and receipts are true. The same with a stand-in, in short, is in
// packages/relay/tests/claude.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
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
const isReady = /\? for shortcuts|manual mode|bypass permissions on/

type Terminal = Awaited<ReturnType<OwnWorld['open']>>
let world: OwnWorld
/** The messages that the peer was sent. */
const heard: string[] = []

const agents = async () =>
  (await world.peer.call('agent.list', { includeOffline: true })).agents.filter(({ name }) => name !== 'Peer')
const agentCalled = async (name: string) => (await agents()).find((each) => each.name === name)
const receipt = async (message: string) => (await world.peer.call('message.receipts', { message })).receipts[0]
const isOffered = (id: string) => until(async () => (await receipt(id))?.route === 'peer')
const does = async (name: string) => (await agentCalled(name))?.doing
const isIdle = (name: string) => until(async () => (await does(name))?.state === 'idle')

/** The number of times that the model has been told of a message: its request repeats the whole conversation, so the newest one knows. */
const timesTold = (id: string) =>
  JSON.stringify(world.asked.findLast(({ body }) => body)?.body).split(`[${id}]`).length - 1

/** Starts one more, and answers the name under which it is there. */
async function begin(...args: string[]): Promise<{ terminal: Terminal; name: string; ms: number }> {
  const before = (await agents()).filter(({ status }) => status !== 'offline').map(({ name }) => name)
  const records = () => readdirIn('.claude/sessions').filter((name) => name.endsWith('.json'))
  const known = records()
  const terminal = await world.open(
    ...(args.includes('--permission-mode') ? [] : ['--permission-mode', 'default']),
    ...args,
  )
  if (args.includes('bypassPermissions')) await accept(terminal)
  await until(() => records().some((name) => !known.includes(name)))
  let name: string | undefined
  const ms = await until(async () => {
    name = (await agents()).find((each) => each.status !== 'offline' && !before.includes(each.name))?.name
    return name !== undefined
  })
  await terminal.shows(isReady)
  await isIdle(name as string)
  return { terminal, name: name as string, ms }
}

/** That nobody is asked about its steps from now on. */
async function accept(terminal: Terminal): Promise<void> {
  await terminal.shows(/Yes, I accept/)
  await sleep(1_000)
  await terminal.type('\u001b[B')
  await terminal.shows(/❯ Yes, I accept/)
  await terminal.type('\r')
}

function readdirIn(path: string): string[] {
  return existsSync(join(world.home, path)) ? readdirSync(join(world.home, path)) : []
}

/** All that Claude Code keeps in its home, with its contents. */
function files(): Record<string, string> {
  const all = readdirSync(world.home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const ofClaude = all.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => path.includes('.claude'))
  return Object.fromEntries(ofClaude.map((path) => [path, readFileSync(path, 'latin1')]))
}

/** Leaves the session as a person does. */
async function leave(name: string, terminal: Terminal): Promise<void> {
  await terminal.enter('/exit')
  await until(async () => ['offline', undefined].includes((await agentCalled(name))?.status))
}

describe.skipIf(reason)('started by hand, with nothing of ours installed', () => {
  let terminal: Terminal
  let name: string
  beforeAll(async () => {
    world = await OwnWorld.withoutUs(claude, folder)
    // Root may do that only where it says that nothing can be broken.
    world.env.IS_SANDBOX = '1'
    world.relay('daemon', 'start', '--project', 'play')
    await world.peer.connect()
    world.peer.on('message', ({ from, content }) => heard.push(`${from}: ${content}`))
    const begun = await begin()
    ;({ terminal, name } = begun)
    console.log(`there ${Math.round(begun.ms)} ms after its record, as ${name}`)
  })
  afterAll(() => world?.close())

  test('it is an agent with its own state, and nothing stands in its settings', async () => {
    expect(await agentCalled(name)).toMatchObject({ cli: 'claude', reached: 'wakes', doing: { state: 'idle' } })
    expect(world.relay('who')).toContain(name)
    await terminal.enter('slow 3')
    await until(async () => (await does(name))?.state === 'busy')
    await isIdle(name)
    expect(existsSync(join(world.home, '.claude/settings.json'))).toBe(false)
    expect(readFileSync(join(world.home, '.claude.json'), 'utf8')).not.toContain('relay')
  })

  test('idle: a message is in the next request of its model, once; two of the same words are two', async () => {
    const times: number[] = []
    const before = world.asked.length
    for (let i = 0; i < 10; i++) {
      const { id, ms } = await world.sendAndSee(name, `ping ${i}!`)
      times.push(ms)
      await isOffered(id)
      await isIdle(name)
      expect(timesTold(id)).toBe(1)
    }
    console.log(`idle Claude Code: median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}`)
    // Claude Code's own small questions, such as for a title, have no tools.
    expect(world.asked.slice(before).filter(({ heard }) => heard?.tools.length).length).toBe(10)
    const ids = [await world.peer.send(name, 'same'), await world.peer.send(name, 'same')].map(({ id }) => id)
    for (const id of ids) await isOffered(id)
    await until(() => ids.every((id) => timesTold(id) === 1))
    await isIdle(name)
  })

  test('busy: between two calls of tools, and at the end of a turn that only talks', async () => {
    await terminal.enter('use Bash {"command":"sleep 3; echo done >made","description":"work"}')
    await terminal.shows(/Do you want to proceed/)
    await sleep(1_000)
    await terminal.type('\r')
    await until(async () => (await does(name))?.state === 'busy')
    const { id } = await world.sendAndSee(name, 'while you work')
    expect(world.seen('while you work')?.heard?.results).toHaveLength(1)
    expect(existsSync(join(world.work, 'made'))).toBe(true)
    await isOffered(id)
    await isIdle(name)
    expect(timesTold(id)).toBe(1)
    await terminal.enter('slow 4')
    await terminal.shows(/word3/)
    const talking = await world.sendAndSee(name, 'while you talk')
    await isOffered(talking.id)
    await isIdle(name)
    expect(timesTold(talking.id)).toBe(1)
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
  })

  test('with an open permission, or another dialog: nothing is sent before it is answered', async () => {
    await terminal.enter('use Bash {"command":"touch allowed","description":"work"}')
    await terminal.shows(/Do you want to proceed/)
    await until(async () => (await does(name))?.for === 'permission prompt')
    const { id } = await world.peer.send(name, 'while you ask')
    await sleep(2_000)
    expect((await receipt(id))?.state).toBe('stored')
    expect(await terminal.screen()).not.toContain('while you ask')
    await terminal.type('\r')
    await isOffered(id)
    await until(() => timesTold(id) === 1)
    expect(existsSync(join(world.work, 'allowed'))).toBe(true)
    await isIdle(name)
    await terminal.enter('/model')
    await until(async () => (await does(name))?.state === 'waiting')
    const other = await world.peer.send(name, 'while you choose')
    await sleep(2_000)
    expect(await terminal.screen()).not.toContain('while you choose')
    await sleep(500)
    await terminal.type('\u001b')
    await isOffered(other.id)
    await until(() => timesTold(other.id) === 1)
    await isIdle(name)
  })

  test('its model answers by the tool that it has already', async () => {
    const { id } = await world.sendAndSee(name, 'use ToolSearch {"query":"select:SendMessage,ListAgents"}')
    await isOffered(id)
    await isIdle(name)
    const told = world.seen(`[${id}]`)?.heard?.text ?? ''
    const [, to] = /SendMessage\(to="([^"]+)"/.exec(told) ?? []
    expect(to).toMatch(/^uds:/)
    await world.peer.send(name, `use SendMessage {"to":"${to}","message":"@Peer I am on it","summary":"an answer"}`)
    await until(() => heard.includes(`${name}: I am on it`))
    await isIdle(name)
    await until(async () => (await receipt(id))?.state === 'read')
  })

  test('a daemon that is killed between the send and the end of the turn: once', async () => {
    await terminal.enter('slow 12')
    await terminal.shows(/word3/)
    const { id } = await world.peer.send(name, 'over the end of a daemon')
    await terminal.shows(/over the end of a daemon/)
    await world.restart()
    await until(async () => (await agents().catch(() => [])).some((each) => each.name === name))
    await isOffered(id)
    await until(() => world.seen(`[${id}]`) !== undefined)
    await isIdle(name)
    const after = await world.sendAndSee(name, 'from the next daemon')
    await isOffered(after.id)
    await isIdle(name)
    expect([timesTold(id), timesTold(after.id)]).toEqual([1, 1])
  })

  test('200 messages while it goes busy and idle at random: each is in the model once, and offered by its own socket', async () => {
    const ids = await world.sendWhileBusy(name, terminal)
    await until(async () => (await Promise.all(ids.map(receipt))).every((each) => each?.route !== undefined))
    await isIdle(name)
    const end = await world.sendAndSee(name, 'the last one')
    await isOffered(end.id)
    expect(ids.filter((id) => timesTold(id) !== 1)).toEqual([])
    const routes = (await Promise.all(ids.map(receipt))).map((each) => each?.route)
    expect([...new Set(routes)]).toEqual(['peer'])
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
    await isIdle(name)
  })

  test('/rename and /clear: it keeps its name, and so it does when it is continued', async () => {
    await terminal.enter('/rename other-name')
    await sleep(1_500)
    const renamed = await world.sendAndSee(name, 'after a rename')
    await isOffered(renamed.id)
    await isIdle(name)
    await terminal.enter('/clear')
    await sleep(1_500)
    const { id } = await world.sendAndSee(name, 'after it was cleared')
    await isOffered(id)
    await isIdle(name)
    expect(timesTold(id)).toBe(1)
    await leave(name, terminal)
    const left = await world.peer.send(name, 'while you are away')
    expect((await receipt(left.id))?.state).toBe('stored')
    const transcripts = readdirSync(join(world.home, '.claude/projects'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.jsonl'))
      .map((path) => join(world.home, '.claude/projects', path))
      .sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)
    const conversation = (transcripts[0] as string).replace(/^.*\//, '').replace('.jsonl', '')
    terminal = await world.open('--permission-mode', 'default', '--resume', conversation)
    await isOffered(left.id)
    await until(() => timesTold(left.id) === 1)
    await isIdle(name)
    expect((await agents()).filter(({ status }) => status !== 'offline').map((each) => each.name)).toEqual([name])
  })

  test('a turn that fails, or that its person breaks off: what waited in it arrives, and so does the next', async () => {
    const failing = await world.sendAndSee(name, 'refuse this')
    await terminal.shows(/API Error: 400/)
    await isIdle(name)
    const next = await world.sendAndSee(name, 'the model can go on')
    await isIdle(name)
    await terminal.enter('slow 40')
    await terminal.shows(/word3/)
    const { id } = await world.peer.send(name, 'before it is broken off')
    await terminal.shows(/before it is broken off/)
    await terminal.type('\u001b')
    await until(() => timesTold(id) === 1)
    await isIdle(name)
    const after = await world.sendAndSee(name, 'after it was broken off')
    for (const each of [failing.id, next.id, id, after.id]) await isOffered(each)
    await isIdle(name)
    expect([failing.id, next.id, id, after.id].map(timesTold)).toEqual([1, 1, 1, 1])
  })

  test('started without permission questions: its person is asked about a message, and it is in the model once they let it in', async () => {
    const all = await begin('--permission-mode', 'bypassPermissions')
    const { id } = await world.peer.send(all.name, 'to be let in')
    await until(
      async () =>
        (await agentCalled(all.name))?.notReached === 'its session holds the message until its person accepts it',
    )
    await all.terminal.shows(/Held message from another session/)
    expect((await receipt(id))?.state).toBe('stored')
    await sleep(1_000)
    await all.terminal.type('\u001b[B')
    await all.terminal.shows(/❯ Deliver/)
    await all.terminal.type('\r')
    await isOffered(id)
    await isIdle(all.name)
    expect((await agentCalled(all.name))?.notReached).toBeUndefined()
    const denied = await world.peer.send(all.name, 'not to be let in')
    await all.terminal.shows(/not to be let in[\s\S]*❯ Deny/)
    await sleep(1_000)
    await all.terminal.type('\r')
    await until(async () => (await agentCalled(all.name))?.notReached === 'its person did not accept the message')
    expect((await receipt(denied.id))?.state).toBe('stored')
    await leave(all.name, all.terminal)
  })

  test('what it holds is said so until its person lets it go; what it refuses stays in the inbox', async () => {
    const holding = await begin('--settings', '{"crossSessionInbound":"hold"}')
    const { id } = await world.peer.send(holding.name, 'to be held')
    await until(
      async () =>
        (await agentCalled(holding.name))?.notReached === 'its session holds the message until its person accepts it',
    )
    expect([(await receipt(id))?.state, (await agentCalled(holding.name))?.reached]).toEqual(['stored', 'not now'])
    expect(world.relay('who')).toMatch(/holds the message until its person/)
    expect(world.relay('receipts', id)).not.toMatch(/offered/)
    await leave(holding.name, holding.terminal)
    expect((await receipt(id))?.state).toBe('stored')
    const refusing = await begin('--settings', '{"crossSessionInbound":"refuse"}')
    const refused = await world.peer.send(refusing.name, 'to be refused')
    await until(
      async () => (await agentCalled(refusing.name))?.notReached === 'a setting of its session refuses messages',
    )
    expect((await receipt(refused.id))?.state).toBe('stored')
    expect(world.seen('to be held') ?? world.seen('to be refused')).toBeUndefined()
    await leave(refusing.name, refusing.terminal)
  })

  test('nothing of Claude’s is written by us: a daemon that ends, comes back and finds the session changes no file', async () => {
    const before = files()
    await world.restart()
    await until(async () =>
      (await agents().catch(() => [])).some((each) => each.name === name && each.status === 'idle'),
    )
    expect(files()).toEqual(before)
    const settings = Object.keys(before).filter((path) => /(settings|\.claude)\.json$/.test(path))
    expect(settings.filter((path) => before[path]?.includes('agent-relay'))).toEqual([])
  })
})
