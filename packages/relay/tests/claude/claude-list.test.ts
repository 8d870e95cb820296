// Our agents in Claude Code's own list: only once the person has agreed, each under a name of its own, and gone with their agent or daemon.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { setClaudeListConsent } from '../../src/machine/claude-list-consent.ts'
import { ClaudeWorld, type StandIn } from './claude-world.ts'

let world: ClaudeWorld
let session: StandIn
const programs: ChildProcess[] = []
beforeEach(async () => {
  world = new ClaudeWorld()
  await world.start()
  session = await world.begin({ name: 'fixer' })
})
afterEach(async () => {
  for (const program of programs.splice(0)) program.kill('SIGKILL')
  await world.close()
})

const program = () => {
  programs.push(spawn('sh', ['-c', 'read line']))
  return programs.at(-1)?.pid as number
}
/** By name: the pid and the socket of each record but the session's own. */
const listed = () => {
  const records = Object.entries(world.files()).filter(
    ([file]) => file.endsWith('.json') && file !== `${session.pid}.json`,
  )
  return Object.fromEntries(
    records.map(([, text]) => {
      const { name, pid, messagingSocketPath } = JSON.parse(text)
      return [name as string, { pid: pid as number, socketPath: messagingSocketPath as string }]
    }),
  )
}
const isListed = (...names: string[]) => until(() => Object.keys(listed()).sort().join() === names.sort().join())
const agree = () => setClaudeListConsent(world.dataDir, true)

describe.skipIf(process.platform !== 'linux')('the list of Claude Code', () => {
  test('has none of ours before the person has agreed, and none after it was taken back', async () => {
    const bob = await world.link('Bob', { host: program() })
    await until(async () => (await bob.agent('fixer'))?.doing !== undefined)
    const before = world.files()
    expect(Object.keys(before)).toHaveLength(2)
    agree()
    await isListed('relay', 'Bob')
    setClaudeListConsent(world.dataDir, false)
    await isListed()
    expect(world.files()).toEqual(before)
  })

  test('has an agent by its process, all others behind the daemon, and what is sent there is a message', async () => {
    agree()
    const host = program()
    const bob = await world.link('Bob', { host })
    const cy = await world.link('Cy')
    await isListed('relay', 'Bob')
    const { Bob, relay } = listed()
    expect([Bob?.pid, relay?.pid]).toEqual([host, process.pid])
    session.say(Bob?.socketPath as string, 'by your name')
    const got: string[] = []
    await until(async () => got.push(...(await bob.inbox())) > 0)
    session.say(relay?.socketPath as string, '@Cy behind the daemon')
    await until(async () => got.push(...(await cy.inbox())) > 1)
    expect(got).toEqual(['fixer: by your name', 'fixer: behind the daemon'])
    await bob.close()
    await isListed('relay')
    await world.stop()
    await isListed()
  })

  test('has what one sends who is no session of Claude Code for nobody', async () => {
    agree()
    const bob = await world.link('Bob', { host: program() })
    await isListed('relay', 'Bob')
    const stranger = await ClaudeWorld.stranger(world)
    stranger.say(listed().Bob?.socketPath as string, 'trust me')
    session.say(listed().Bob?.socketPath as string, 'after it')
    const got: string[] = []
    await until(async () => got.push(...(await bob.inbox())) > 0)
    expect(got).toEqual(['fixer: after it'])
  })

  test('keeps a name and a record that are somebody else’s', async () => {
    const other = await world.begin({ name: 'Bob' })
    const host = program()
    const path = join(world.home, 'sessions', `${host}.json`)
    writeFileSync(path, '{"name":"not ours"}', { mode: 0o600 })
    agree()
    const ann = await world.link('Ann', { host })
    await world.link('relay', { host: program() })
    await until(() => listed().relay !== undefined)
    await until(async () => (await ann.agents()).some(({ doing }) => doing !== undefined))
    expect(listed().relay?.pid).toBe(process.pid)
    expect(listed().Bob?.pid).toBe(other.pid)
    expect(readFileSync(path, 'utf8')).toBe('{"name":"not ours"}')
  })

  test('never touches a record that took the place of ours, and none of a session that is no agent', async () => {
    agree()
    const host = program()
    const bob = await world.link('Bob', { host })
    await isListed('relay', 'Bob')
    const path = join(world.home, 'sessions', `${host}.json`)
    const theirs = '{"name":"a session that began there"}'
    writeFileSync(path, theirs)
    await bob.close()
    const script = await world.begin({ name: 'script', fields: { entrypoint: 'sdk-cli' } })
    script.startsOurServer(world.dataDir)
    await script.hasOurTools()
    await world.link('Cy', { host: program() })
    await until(() => listed().Cy !== undefined)
    await world.stop()
    expect(readFileSync(path, 'utf8')).toBe(theirs)
    expect(listed().script?.pid).toBe(script.pid)
    expect(world.files()[`${script.pid}.json`]).not.toContain('agentRelay')
  })

  test('shows another workspace only where its policy lets others write, and names it', async () => {
    agree()
    await world.daemon?.open('shop')
    await world.link('Bob', { host: program() })
    await world.link('Ann', { workspace: 'shop', host: program() })
    await isListed('relay', 'Bob')
    const { dispatch } = (await world.daemon?.open('shop')) ?? {}
    const policy = {
      rule: 'workspace.set-policy',
      input: { writers: '*' },
      by: 'agent-relay',
      cause: 'c_open',
    } as const
    expect(await dispatch?.workspace.engine.submit(policy)).not.toHaveProperty('refusal')
    await isListed('relay', 'Bob', 'shop.Ann')
  })

  test('loses what a daemon that was killed has left, and nothing else', async () => {
    await world.stop()
    const agentRelay = { daemon: 999_999, start: '1' }
    const left = program()
    for (const [pid, fields] of [
      [left, { agentRelay }],
      [left + 1, {}],
    ] as const) {
      writeFileSync(join(world.home, 'sessions', `${pid}.json`), JSON.stringify({ pid, name: `n${pid}`, ...fields }))
      writeFileSync(join(world.home, 'sessions', `${pid}.abc.key`), '{}', { mode: 0o600 })
    }
    await world.start()
    await isListed(`n${left + 1}`)
    expect(Object.keys(world.files()).filter((name) => name.startsWith(`${left}.`))).toEqual([])
  })
})
