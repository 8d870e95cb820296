// `demo`: every line it prints is in the journal of the workspace it made, and without a daemon nothing is left.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { connectRelay, type RelayEvent } from '@agent-relay/sdk'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { World, withoutWaiting } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

/** What each line says beyond the entry itself: how long an answer took, what an action answered. */
const beyond = / {3}(answered in \d+ ms|→ .*)$/
const isNumbered = (line: string) => /^ {0,5}\d+ \[/.test(line)
const numberless = (line: string) => line.replace(/^ *\d+ /, '')
const linesOf = (text: string) => text.trimEnd().split('\n')

it('without a daemon: in memory, and nothing is left', async () => {
  const { code, stdout, stderr } = await world.launch(['demo', '--journal'])
  expect({ code, stderr: withoutWaiting(stderr) }).toEqual({ code: 0, stderr: '' })
  const [head, ...rest] = linesOf(stdout)
  expect(head).toMatch(/^Three scripted agents, no model, no network\. Workspace demo-\w{4} in a relay of its own/)
  const shown = rest.filter((line) => line.startsWith('['))
  const journal = rest.filter(isNumbered).map(numberless)
  expect(shown.length).toBeGreaterThanOrEqual(8)
  expect(shown.filter((line) => !journal.includes(line.replace(beyond, '')))).toEqual([])
  expect(rest.at(-2)).toMatch(/agent-relay up, and in a second terminal: .*agent-relay demo --here$/)
  expect(rest.at(-1)).toMatch(/^Next, to connect your own agents: .*agent-relay mcp install$/)
  expect(existsSync(world.dataDir)).toBe(false)
  expect(readdirSync(world.root).sort()).toEqual(['app', 'home'])
  expect(readdirSync(world.cwd)).toEqual([])
})

it('with one: in a workspace of its own, where everything shown can be looked up', async () => {
  await world.serve()
  await world.run(['workspace', 'create', 'demo-00ff'])
  const { code, stdout, stderr } = await world.launch(['demo'])
  expect({ code, stderr: withoutWaiting(stderr) }).toEqual({ code: 0, stderr: '' })
  const name = /Workspace (demo-\w{4}) in the relay that runs here/.exec(stdout)?.[1] as string
  const journal = linesOf((await world.run(['events', '--project', name, '--limit', '500'])).stdout).map(numberless)
  const shown = linesOf(stdout).filter((line) => line.startsWith('['))
  expect(shown.filter((line) => !journal.includes(line.replace(beyond, '')))).toEqual([])
  expect(stdout).toContain(`agent-relay events --project ${name}`)
  // The former demo's is gone: one stays to be looked at.
  const { workspaces } = await world.json<{ workspaces: { name: string }[] }>(['workspace', 'list'])
  expect(workspaces.map((workspace) => workspace.name)).toEqual(['app', name])

  const { events } = await world.json<{ events: RelayEvent[] }>(['events', '--project', name, '--limit', '500'])
  const count = (type: string) => events.filter((event) => event.type === type).length
  const sum = `${count('message.created')} messages, ${count('action.completed')} action and ${count('run.completed')} run,`
  expect(stdout).toContain(sum)
  const reply = events.find(({ message }) => message?.replyTo !== undefined)?.message
  const asked = events.find(({ message }) => message && message.id === reply?.replyTo)?.message
  expect(stdout).toContain(`   answered in ${Date.parse(reply?.ts ?? '') - Date.parse(asked?.ts ?? '')} ms`)

  // Who named no workspace meant the other one, before as after.
  const elsewhere = world.directory('elsewhere')
  expect(await world.json(['status'], { cwd: elsewhere })).toMatchObject({ workspace: 'app' })

  const invocation = events.find((event) => event.type === 'action.completed')?.fact.id as string
  const key = (await world.run(['workspace', 'key', name])).stdout.trim()
  const { socketPath } = await world.json<{ socketPath: string }>(['status', '--project', name])
  const relay = await connectRelay({ socketPath, key, name: 'auditor' })
  try {
    const { result } = await relay.actions.result(invocation)
    expect(stdout).toContain(`   → ${JSON.stringify((result as { output: unknown }).output)}`)
  } finally {
    await relay.close()
  }
  const [remove] = /agent-relay workspace remove demo-\w{4}$/m.exec(stdout) as string[]
  expect(await world.shell(remove as string)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${remove} --yes`),
  })
  expect(await world.shell(`${remove} --yes`)).toMatchObject({ code: 0, stderr: expect.stringContaining('is removed') })
  expect(readdirSync(join(world.dataDir, 'projects'))).toEqual(['app'])
})

it('with --here: in the workspace of this directory, among what is said there, and on its page', async () => {
  const closed = await world.launch(['demo', '--here'])
  expect(closed).toMatchObject({ code: 69, stderr: expect.stringContaining('daemon is not running') })
  await world.serve()
  await world.run(['send', '#general', 'mine', '--as', 'kim'])
  const feed = world.start(['up'])
  await feed.says(/^ready\./m)
  const { code, stdout } = await world.launch(['demo', '--here'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^Three scripted agents.* Workspace app in the relay that runs here\.$/m)
  expect(stdout).not.toContain('"mine"')
  await feed.says(/demo-lead → #demo \[status\] "Tested\. Nobody has said yes/)
  await feed.stop()
  const { workspaces } = await world.json<{ workspaces: { name: string }[] }>(['workspace', 'list'])
  expect(workspaces.map((workspace) => workspace.name)).toEqual(['app'])
  // A second one plays in the same channel.
  expect((await world.launch(['demo', '--here', '--json'])).code).toBe(0)
  const other = world.directory('other')
  const unknown = await world.launch(['demo', '--here', '--project', 'nope'], { cwd: other })
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('No workspace "nope" is open here.') })
})

it('for programs: the events themselves, and a sum', async () => {
  const { stdout } = await world.launch(['demo', '--json'])
  const values = linesOf(stdout).map((line) => JSON.parse(line))
  expect(values.at(-1)).toMatchObject({ type: 'done', messages: expect.any(Number), actions: 1, runs: 1 })
  expect(values.map(({ type }) => type)).toEqual(expect.arrayContaining(['message.created', 'run.completed']))
})

it('ends early and cleanly when it is told to', async () => {
  const demo = world.start(['demo'])
  await demo.says(/Ship 1\.4/)
  expect(withoutWaiting((await demo.stop()).stderr)).toBe('')
  expect(readdirSync(world.root).sort()).toEqual(['app', 'home'])
})
