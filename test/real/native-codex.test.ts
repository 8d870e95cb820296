// Codex as a person starts it without our tools or hooks: only a daemon runs. Each conversation in a terminal is an agent with its own state,
// messages get to its model when that suits, its last words are the answer, and its questions can be answered from elsewhere.

import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../until.ts'
import { atTerminal } from './at-terminal.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { median, OwnWorld } from './own-world.ts'

const plain = clis.find(({ name }) => name === 'codex') as Cli
const codex: Cli = {
  ...plain,
  prepare(place) {
    const env = plain.prepare(place)
    // The person has answered the question whether they trust this folder.
    appendFileSync(join(place.home, '.codex/config.toml'), `[projects."${place.work}"]\ntrust_level = "trusted"\n`)
    return env
  },
}
const installed = install(codex)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''
const isReady = /fake-model default/

type Terminal = Awaited<ReturnType<OwnWorld['open']>>
let world: OwnWorld
/** What the peer was sent. */
const heard: string[] = []

const isThere = async (name: string) => ((await world.agent(name))?.status ?? 'offline') !== 'offline'
const isIdle = (name: string) => until(async () => (await world.agent(name))?.doing?.state === 'idle')

async function begin(name: string): Promise<{ terminal: Terminal; ms: number }> {
  const terminal = await world.open()
  await terminal.shows(isReady)
  const ms = await until(() => isThere(name))
  await isIdle(name)
  return { terminal, ms }
}

async function leave(terminal: Terminal): Promise<void> {
  await terminal.type('\u0003')
  await sleep(300)
  await terminal.type('\u0003')
}

describe.skipIf(reason)('Codex, started by hand, with nothing of ours installed', () => {
  let terminal: Terminal
  beforeAll(async () => {
    world = await OwnWorld.withoutUs(codex, folder)
    world.relay('daemon', 'start', '--project', 'play')
    await world.peer.connect()
    world.peer.on('message', ({ from, content }) => heard.push(`${from}: ${content}`))
    const begun = await begin('codex')
    terminal = begun.terminal
    console.log(`there ${Math.round(begun.ms)} ms after its terminal was ready`)
  })
  afterAll(() => world?.close())

  test('it is an agent with its own state', async () => {
    expect(await world.agent('codex')).toMatchObject({ cli: 'codex', reached: 'wakes', doing: { state: 'idle' } })
    expect(world.relay('who')).toMatch(/codex .* wakes/)
    await terminal.enter('slow 3')
    await until(async () => (await world.agent('codex'))?.doing?.state === 'busy')
    await isIdle('codex')
  })

  test('idle: a message is in the next request of its model, and its last words are the answer', async () => {
    const times: number[] = []
    for (let i = 0; i < 10; i++) {
      const { id, ms } = await world.sendAndSee('codex', `ping ${i}!`)
      times.push(ms)
      await until(async () => (await world.route(id)) === 'app-server')
      await until(() => heard.length === i + 1)
      await isIdle('codex')
    }
    console.log(`idle Codex: median ${Math.round(median(times))} ms of ${times.map(Math.round).join(', ')}`)
    expect(heard.every((each) => each.startsWith('codex: ACK'))).toBe(true)
  })

  test('busy: at the end of the turn, and nothing that runs is cut off', async () => {
    const made = join(world.work, 'made')
    await terminal.enter(`use exec_command {"cmd":"sleep 3; echo done >made"}`)
    await until(() => world.seen('sleep 3') !== undefined)
    const { ms } = await world.sendAndSee('codex', 'while you work')
    expect([ms > 1_000, existsSync(made)]).toEqual([true, true])
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
    await isIdle('codex')
  })

  test('what it asks is in the queue, answered from there or at its terminal', async () => {
    const ask = async (file: string) => {
      const command = { cmd: `touch ${file}`, sandbox_permissions: 'require_escalated', justification: 'need it' }
      await terminal.enter(`use exec_command ${JSON.stringify(command)}`)
      await terminal.shows(/Press enter to confirm|Yes, proceed/i)
      let id: string | undefined
      await until(async () => {
        id = (await world.peer.call('agent.list', {})).agents.find(({ blocked }) => blocked)?.name
        return id !== undefined
      })
      const { said } = await atTerminal(world, 'approvals', '--json')
      return JSON.parse(said.trim().split('\n').at(-1) as string).approvals[0]
    }
    const isMade = (file: string) => existsSync(join(world.work, file))
    const first = await ask('allowed')
    expect(first).toMatchObject({ agent: 'codex', tool: 'shell', input: 'touch allowed' })
    expect(world.relay('who')).toMatch(/codex .* (?:blocked|waiting)/)
    await world.peer.send('codex', 'while you ask')
    expect((await atTerminal(world, 'approve', first.id)).said).toContain('Allowed.')
    await until(() => isMade('allowed'))
    await until(() => world.seen('while you ask') !== undefined)
    await isIdle('codex')
    const second = await ask('denied')
    expect((await atTerminal(world, 'deny', second.id)).code).toBe(0)
    await isIdle('codex')
    const third = await ask('typed')
    await terminal.type('\r')
    await until(() => isMade('typed'))
    await isIdle('codex')
    const { said } = await atTerminal(world, 'approve', third.id)
    expect(said).toMatch(/terminal/)
    expect(isMade('denied')).toBe(false)
  })

  test('a second terminal is a second agent, and gone a minute after it was closed', async () => {
    const { terminal: second } = await begin('codex-2')
    await world.sendAndSee('codex-2', 'to the second')
    await isIdle('codex-2')
    await leave(second)
    await until(async () => !(await isThere('codex-2')))
    expect(await isThere('codex')).toBe(true)
    await world.peer.send('codex-2', 'nobody looks')
    await sleep(2_000)
    expect(world.seen('nobody looks')).toBeUndefined()
  })

  test('the next daemon finds it under its name', async () => {
    await world.restart()
    await isIdle('codex')
    await world.sendAndSee('codex', 'after the restart')
  })
})
