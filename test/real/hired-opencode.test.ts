// opencode as a worker: its activity, questions and spend come from its own server, whatever its screen shows.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { atTerminal, begin } from './at-terminal.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { RealWorld } from './world.ts'

const plain = clis.find(({ name }) => name === 'opencode') as Cli
const opencode: Cli = {
  ...plain,
  prepare(place) {
    const env = plain.prepare(place)
    const file = join(place.home, '.config/opencode/opencode.json')
    const settings = JSON.parse(readFileSync(file, 'utf8'))
    // Dollars for a million tokens.
    settings.provider.fake.models['fake-model'].cost = { input: 100, output: 200 }
    writeFileSync(file, JSON.stringify({ ...settings, permission: { bash: 'ask' } }))
    return env
  },
}
const installed = install(opencode)
const reason = 'reason' in installed ? installed.reason : undefined
const folder = 'folder' in installed ? installed.folder : ''
const name = 'Worker'

describe.skipIf(reason)('hired', () => {
  let world: RealWorld
  const told = async (...args: string[]) =>
    JSON.parse((await atTerminal(world, ...args, '--json')).said.trim().split('\n').at(-1) as string)
  const states: string[] = []
  const is = (status: string) => until(async () => (await state()) === status)
  const state = async () => {
    const { status = '' } = (await world.worker(name)) ?? {}
    if (states.at(-1) !== status) states.push(status)
    return status
  }
  beforeAll(async () => {
    world = await RealWorld.start(opencode, folder, { hasLead: false })
    await world.hire({ name, cli: 'opencode', task: 'Say hello.' })
    await until(() => world.asked.some(({ heard }) => heard?.text.includes('Say hello.')))
    await is('idle')
  }, 4 * guardMs)
  afterAll(() => world?.close())

  test('a turn counts once, with its price', async () => {
    await until(async () => (await world.worker(name))?.spend !== undefined)
    const { spend } = await told('spend')
    expect(spend).toEqual([expect.objectContaining({ agent: name, turns: 1, usd: 0.002 })])
    expect(spend[0].tokens).toEqual({ input: 10, output: 5, cached: 0 })
  })

  test('busy while its model speaks, and idle afterwards', async () => {
    const id = await world.send(name, 'slow 3')
    await is('busy')
    await is('idle')
    expect((await world.receipt(id))?.route).toBe('http')
    await until(async () => (await told('spend')).spend[0].turns === 2)
  })

  test('what it asks waits in the queue, and a refusal has words', async () => {
    await world.send(name, 'use bash {"command":"touch made","description":"make it"}')
    await is('blocked')
    // Its screen would say no more than that a dialog is open.
    expect(JSON.stringify(await told('workers'))).toContain('it waits for a permission')
    await until(async () => (await told('approvals')).approvals.length === 1)
    const [asked] = (await told('approvals')).approvals
    expect(asked).toMatchObject({ tool: 'bash', input: 'touch made' })
    await atTerminal(world, 'deny', asked.id, 'Use a branch, please.')
    await until(() => world.asked.some(({ body }) => JSON.stringify(body).includes('Use a branch, please.')))
    await is('idle')
    expect(existsSync(join(world.work, 'made'))).toBe(false)
    // The call of the tool and what came after the refusal are one turn.
    await until(async () => (await told('spend')).spend[0].turns === 3)
    expect((await told('spend')).spend[0].tokens.input).toBe(40)
  })

  test('an answer at its terminal closes the row', async () => {
    await world.send(name, 'use bash {"command":"touch made-here","description":"make it"}')
    await until(async () => (await told('approvals')).approvals.length === 1)
    const attached = await begin(world, 'attach', name)
    await until(() => attached.said().includes(`Attached to ${name}`))
    await attached.type('\r')
    await until(() => existsSync(join(world.work, 'made-here')))
    await until(async () => (await told('approvals')).approvals.length === 0)
    await attached.type('\u001d')
    await attached.ended
    await is('idle')
    console.log(`seen: ${states.join(', ')}`)
  })
})
