// Codex as a worker: its activity, questions and spend come from the server that runs beside its terminal, whatever its screen shows.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardMs } from '../guard.ts'
import { until } from '../until.ts'
import { atTerminal } from './at-terminal.ts'
import { type Cli, clis } from './clis.ts'
import { install } from './installing.ts'
import { RealWorld } from './world.ts'

const codex = clis.find(({ name }) => name === 'codex') as Cli
const installed = install(codex)
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
    world = await RealWorld.start(codex, folder, { hasLead: false })
    await world.hire({ name, cli: 'codex', task: 'Say hello.' })
    await until(() => world.asked.some(({ heard }) => heard?.text.includes('Say hello.')))
    await is('idle')
  }, 4 * guardMs)
  afterAll(() => world?.close())

  test('a turn counts once', async () => {
    await until(async () => (await world.worker(name))?.spend !== undefined)
    const { spend } = await told('spend')
    expect(spend).toEqual([expect.objectContaining({ agent: name, turns: 1 })])
    expect(spend[0].tokens.input).toBeGreaterThan(0)
  })

  test('busy while its model speaks, and idle afterwards', async () => {
    await world.send(name, 'slow 3')
    await is('busy')
    await is('idle')
    await until(async () => (await told('spend')).spend[0].turns === 2)
  })

  test('what it asks waits in the queue', async () => {
    const command = { cmd: 'touch made', sandbox_permissions: 'require_escalated', justification: 'need it' }
    await world.send(name, `use exec_command ${JSON.stringify(command)}`)
    await is('blocked')
    expect(JSON.stringify(await told('workers'))).toContain('it waits for a permission')
    await until(async () => (await told('approvals')).approvals.length === 1)
    const [asked] = (await told('approvals')).approvals
    expect(asked).toMatchObject({ tool: 'shell', input: 'touch made' })
    await atTerminal(world, 'approve', asked.id)
    await until(() => existsSync(join(world.work, 'made')))
    await is('idle')
    await until(async () => (await told('spend')).spend[0].turns === 3)
    console.log(`seen: ${states.join(', ')}`)
  })
})
