// opencode as a person starts it: once it has a session, a message wakes it through the plugin that `mcp install --yes` named in its settings.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { atTerminal } from './at-terminal.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { OwnWorld } from './own-world.ts'

const plain = clis.find(({ name }) => name === 'opencode') as Cli
const opencode: Cli = {
  ...plain,
  prepare(place) {
    const env = plain.prepare(place)
    // The person wants to be asked before a command is run.
    const file = join(place.home, '.config/opencode/opencode.json')
    const settings = JSON.parse(readFileSync(file, 'utf8'))
    writeFileSync(file, JSON.stringify({ ...settings, permission: { bash: 'ask' } }))
    return env
  },
}
const installed = install(opencode)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''

describe.skipIf(reason)('started by hand, and configured by `mcp install --yes` alone', () => {
  let world: OwnWorld
  let terminal: Awaited<ReturnType<OwnWorld['open']>>
  beforeAll(async () => {
    world = await OwnWorld.start(opencode, folder)
    terminal = await world.open()
    await terminal.shows(/ctrl\+p commands/)
    await until(async () => (await world.reached('opencode')) !== undefined)
    await terminal.enter('say hello')
    await until(() => world.seen('say hello') !== undefined)
    await until(async () => (await world.reached('opencode')) === 'wakes')
  }, 4 * guardMs)
  afterAll(() => world?.close())

  const does = async (doing: object) => {
    await until(async () => {
      const { agents } = await world.peer.call('agent.list', {})
      return JSON.stringify(agents.find(({ name }) => name === 'opencode')?.doing) === JSON.stringify(doing)
    })
  }

  test('idle: a message reaches the model, and the receipt says how', async () => {
    const times: number[] = []
    for (let i = 0; i < 10; i++) {
      await until(async () => (await world.reached('opencode')) === 'wakes')
      const { id, ms } = await world.sendAndSee('opencode', `ping ${i}!`)
      times.push(ms)
      expect(await world.route(id)).toBe('http')
      await sleep(300)
    }
    const median = times.sort((a, b) => a - b)[5] as number
    console.log(`idle opencode: median ${Math.round(median)} ms of ${times.map(Math.round).join(', ')}`)
  })

  test('busy: at the end of the turn, once', async () => {
    await does({ state: 'idle' })
    await terminal.enter('slow 3')
    await until(() => world.seen('slow 3') !== undefined)
    await does({ state: 'busy' })
    const { ms } = await world.sendAndSee('opencode', 'while you speak')
    expect(ms).toBeGreaterThan(1_000)
    await sleep(2_000)
    expect(world.asked.filter(({ isCut }) => isCut)).toEqual([])
    const last = world.asked.findLast(({ heard }) => (heard?.tools.length ?? 0) > 0)
    expect(JSON.stringify(last?.body).split('while you speak')).toHaveLength(2)
  })

  test('with an open permission: after it is answered', async () => {
    await terminal.enter('use bash {"command":"touch allowed","description":"make it"}')
    await terminal.shows(/Allow once\s+Allow always\s+Reject/)
    await world.peer.send('opencode', 'while you ask')
    await sleep(2_000)
    expect(world.seen('while you ask')).toBeUndefined()
    await terminal.type('\r')
    await until(() => world.seen('while you ask') !== undefined)
    expect(existsSync(join(world.work, 'allowed'))).toBe(true)
  })

  const approvals = async () => {
    const { said } = await atTerminal(world, 'approvals', '--json')
    return JSON.parse(said.trim().split('\n').at(-1) as string).approvals
  }
  const asks = async (file: string) => {
    await until(async () => (await world.reached('opencode')) === 'wakes')
    await terminal.enter(`use bash {"command":"touch ${file}","description":"make it"}`)
    await until(async () => (await approvals()).length === 1)
    return (await approvals())[0]
  }

  test('what it asks is in the queue, and is answered there, with words', async () => {
    const first = await asks('made-1')
    expect(first).toMatchObject({ agent: 'opencode', tool: 'bash', input: 'touch made-1' })
    expect((await atTerminal(world, 'approve', first.id)).said).toContain('Allowed.')
    await until(() => existsSync(join(world.work, 'made-1')))
    const { id } = await asks('made-2')
    expect((await atTerminal(world, 'deny', id, 'Use a branch, please.')).said).not.toContain('as a message')
    await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('Use a branch, please.')))
    expect(existsSync(join(world.work, 'made-2'))).toBe(false)
    await until(async () => (await approvals()).length === 0)
  })

  test('an answer at its terminal closes the row', async () => {
    await asks('made-3')
    await does({ state: 'waiting', for: 'a permission' })
    await terminal.shows(/Allow once\s+Allow always\s+Reject/)
    await terminal.type('\r')
    await until(() => existsSync(join(world.work, 'made-3')))
    await until(async () => (await approvals()).length === 0)
  })

  test('in a mode that only reads: the message runs in that mode', async () => {
    await until(async () => (await world.reached('opencode')) === 'wakes')
    // The key goes on to the next mode.
    await terminal.type('\t')
    await terminal.enter('say what you would do')
    await until(() => world.seen('say what you would do') !== undefined)
    await until(async () => (await world.reached('opencode')) === 'wakes')
    await world.sendAndSee('opencode', 'change that file')
    const body = world.seen('change that file')?.body as { messages: { role: string }[] } | undefined
    const last = JSON.stringify(body?.messages.findLast(({ role }) => role === 'user'))
    expect(last).toMatch(/change that file.*plan mode/is)
  })
})
