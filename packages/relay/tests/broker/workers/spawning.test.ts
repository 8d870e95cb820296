// Starting programs: every way in, tried by callers without the right; the policy for tokens; and the program's directory.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controlSocketPath, socketPathOf } from '@agent-relay/sdk/internal/discover'
import { makeIds, socketConnector, websocketConnector } from '@agent-relay/sdk/wire'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../../../../test/until.ts'
import { type ProjectConfigFile, projectConfig, trustConfig } from '../../../src/machine/trust.ts'
import { plainHarness } from '../../../src/supervisor/harness/plain.ts'
import { completes, inTurn, RunsWorld } from '../../runs/runs-world.ts'
import { eras, HttpWorld, type Json, textOf } from '../../wires/http-world.ts'
import { git } from '../../work/repository-world.ts'

const id = makeIds()
const root = realpathSync(mkdtempSync(join(tmpdir(), 'relay-spawning-')))
const [project, outside] = [join(root, 'project'), join(root, 'outside')]
/** It leaves a mark where it works, and stays. */
const program = join(root, 'claude')
const marks = [project, join(project, 'deeper'), outside].map((directory) => join(directory, 'was-here'))
const claude = { ...plainHarness, name: 'claude', program }
const shell = ['sh', '-c', `touch ${join(project, 'was-here')}; sleep 60`]

beforeAll(() => {
  for (const directory of [join(project, 'deeper'), outside]) mkdirSync(directory, { recursive: true })
  symlinkSync(outside, join(project, 'link'))
  symlinkSync(join(root, 'no-such'), join(project, 'nowhere'))
  mkdirSync(join(outside, 'deeper'))
  writeFileSync(program, '#!/bin/sh\ntouch was-here\nsleep 60\n')
  chmodSync(program, 0o755)
})
afterAll(() => rmSync(root, { recursive: true, force: true }))
afterEach(() => {
  for (const mark of marks) rmSync(mark, { force: true })
})

/** Nothing inside the project: what is there elsewhere, what is not, and the same behind a link of the project. */
const elsewhere = () => [
  ...['/', '..', outside, '/no/such', '/etc/passwd', 'no-such'],
  ...['link', join(project, 'link'), 'link/deeper', 'link/no-such', 'nowhere'],
]

/** One answer for all of them, which tells neither what is there nor where the project is. */
const outsideOf = (cwd: string) => ({
  code: 'directory.outside',
  message: `${cwd} is not a directory inside the project, and over HTTP and WebSocket only the holder of the key has work done elsewhere. Name one inside it.`,
  details: { path: cwd, hasProject: true },
})

async function worldOf(http: object): Promise<HttpWorld> {
  const world = await HttpWorld.start(http, ['shop'], { harnesses: [claude, plainHarness] })
  await openThere(world)
  return world
}

/** The workspace has the project's directory from now on. */
async function openThere({ dir }: HttpWorld): Promise<void> {
  const control = await socketConnector(controlSocketPath(dir))({})
  await control.call('workspace.open', { workspace: 'shop', directory: project }, id('c'))
  await control.close()
}

/** As who shows just these headers. */
async function post(world: HttpWorld, path: string, input: unknown, headers: Record<string, string>): Promise<Json> {
  const asked = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
  return (await fetch(world.url + path, { ...asked, body: JSON.stringify(input) })).json()
}

/** Every way to start a program over a port, and what each is answered. */
async function attempts(world: HttpWorld, headers: Record<string, string>, token?: string): Promise<string[]> {
  const found: string[] = []
  const api = async (path: string, input: unknown) =>
    found.push(`${path}: ${JSON.stringify(await post(world, path, input, headers))}`)
  await api('/api/worker.spawn', { name: 'Shell', cli: 'plain', command: shell })
  await api('/api/worker.spawn', { name: 'Cli', cli: 'claude' })
  await api('/api/agents', { contract: 'Go.', harness: 'claude' })
  await api('/api/run.start', { contract: 'Go.', harness: 'claude' })
  for (const input of [
    { name: 'Acted', cli: 'plain', command: shell },
    { name: 'Acted', cli: 'claude' },
  ])
    await api('/api/action.invoke', { name: 'agent.create', input })
  const hello = token === undefined ? { name: 'Web' } : { token }
  const link = await websocketConnector(world.url)(hello)
  const spawned = link.call('worker.spawn', { name: 'Ws', cli: 'claude' }, id('c')).then(JSON.stringify, String)
  found.push(`/ws: ${await spawned}`)
  await link.close()
  for (const era of eras) {
    const client = await world.client(era, headers, { query: 'tools=relay,actions,agents' })
    const input = { name: `Mcp-${era}`, cli: 'claude', task: 'Go.' }
    found.push(`relay_spawn, ${era}: ${await textOf(client, 'relay_spawn', input)}`)
    found.push(`agent_start, ${era}: ${await textOf(client, 'agent_start', { contract: 'Go.', harness: 'claude' })}`)
    const invoke = { name: 'agent.create', input: { name: `Act-${era}`, cli: 'claude' } }
    found.push(`actions_invoke, ${era}: ${await textOf(client, 'actions_invoke', invoke)}`)
  }
  return found
}

/** No worker was ever wished, no run begun, and nothing has run. */
async function nothingStarted(world: HttpWorld): Promise<void> {
  expect((await world.api('worker.list', { all: true })).body.workers).toEqual([])
  expect((await world.api('run.list', {})).body.runs).toEqual([])
  expect(marks.filter(existsSync)).toEqual([])
}

describe('on an open port', () => {
  let world: HttpWorld
  beforeAll(async () => {
    world = await worldOf({ isOpen: true })
  })
  afterAll(() => world.stop())

  test('a session without a credential starts no program, whatever the policy allows tokens', async () => {
    await world.api('workspace.set-policy', { spawn: 'clis' })
    for (const answer of await attempts(world, { 'x-relay-agent': 'pm' }))
      expect(answer).toMatch(/only the workspace key/)
    // A token that was had made on this very port is worth no more, not even that of an agent with a worker of its own.
    const { token } = await post(world, '/api/agent.register', { name: 'Made' }, {})
    const answers = await attempts(world, { authorization: `Bearer ${token}` }, token)
    for (const answer of answers) expect(answer).toMatch(/only the workspace key/)
    await nothingStarted(world)
  })

  test('a session without a credential cannot touch a worker by saying the name of its parent', async () => {
    const hired = { name: 'Own', cli: 'plain', command: shell }
    expect((await world.api('worker.spawn', hired, world.as('Boss'))).status).toBe(200)
    const asBoss = { 'x-relay-agent': 'Boss' }
    for (const operation of ['release', 'pause', 'resume', 'screen', 'type', 'resize', 'list']) {
      const input = { name: 'Own', data: 'x', cols: 80, rows: 24 }
      const { error } = await post(world, `/api/worker.${operation}`, input, asBoss)
      expect([operation, error?.code]).toEqual([operation, 'auth.denied'])
    }
    const invoke = { name: 'agent.release', input: { name: 'Own' } }
    expect(await post(world, '/api/action.invoke', invoke, asBoss)).toMatchObject({
      ok: false,
      error: { code: 'permission_denied' },
    })
    const { worker } = (await world.api('worker.release', { name: 'Own' }, world.as('Boss'))).body
    expect(worker.status).toBe('exited')
  })
})

describe("an agent's token over TCP", () => {
  let world: HttpWorld
  let token: string
  let shown: Record<string, string>
  beforeAll(async () => {
    world = await worldOf({})
    token = await world.token('Ada')
    shown = { authorization: `Bearer ${token}` }
  })
  afterAll(() => world.stop())
  const spawn = (input: object) => post(world, '/api/worker.spawn', { name: 'Cli', cli: 'claude', ...input }, shown)

  test('starts no program at first, and is told the fix', async () => {
    for (const answer of await attempts(world, shown, token)) expect(answer).toMatch(/policy set --spawn clis/)
    await nothingStarted(world)
  })

  test('with the policy `clis` it starts the named CLIs, unchanged, inside the project', async () => {
    await world.api('workspace.set-policy', { spawn: 'clis' })
    const beyond = [
      { cli: 'plain', command: shell },
      { command: shell },
      { args: ['--dangerously-skip-permissions'] },
      { role: 'lead' },
    ]
    for (const input of beyond) expect([input, (await spawn(input)).error?.code]).toEqual([input, 'spawn.denied'])
    for (const cwd of [...elsewhere(), world.dir])
      expect([cwd, (await spawn({ cwd })).error]).toEqual([cwd, outsideOf(cwd)])
    expect((await spawn({ cli: 'plain' })).error).toBeDefined()
    const run = { contract: 'Go.', harness: 'claude', cwd: outside }
    expect((await post(world, '/api/run.start', run, shown)).error).toEqual(outsideOf(outside))
    await nothingStarted(world)
    expect(await spawn({ cwd: 'deeper' })).toMatchObject({ worker: { cwd: join(project, 'deeper'), parent: 'Ada' } })
    await until(() => existsSync(join(project, 'deeper', 'was-here')))
    const typed = await post(world, '/api/worker.type', { name: 'Cli', data: 'x' }, shown)
    expect(typed.error.code).toBe('auth.denied')
    expect(await post(world, '/api/worker.release', { name: 'Cli' }, shown)).toMatchObject({
      worker: { status: 'exited' },
    })
    const invoke = { name: 'agent.create', input: { name: 'Acted', cli: 'claude' } }
    expect(await post(world, '/api/action.invoke', invoke, shown)).toMatchObject({ ok: true })
    await post(world, '/api/worker.release', { name: 'Acted' }, shown)
    // A trusted file may have worktrees made elsewhere.
    mkdirSync(join(project, '.relay'))
    writeFileSync(join(project, '.relay', 'config.json'), '{"worktree":{"directory":"../worktrees"}}')
    trustConfig(projectConfig(project, world.dir) as ProjectConfigFile, world.dir)
    for (const args of [
      ['init', '-q'],
      ['add', '.'],
      ['commit', '-qm', 'one'],
    ])
      git(project, ...args)
    expect((await spawn({ worktree: true })).error.message).toMatch(/^Its worktree is not .* Leave `worktree` out\.$/)
    for (const made of ['.git', '.relay']) rmSync(join(project, made), { recursive: true })
    await world.api('workspace.set-policy', { spawn: 'none' })
    expect((await spawn({})).error.code).toBe('spawn.denied')
  })
})

describe('a run has the rights of the session that asked for it', () => {
  let world: RunsWorld
  afterEach(() => world.stop())

  const toolsOf = async (asking: Record<string, string>): Promise<string[]> => {
    // It asks for the tool even where it has none.
    const hires = () => ({ calls: [{ name: 'relay_spawn', args: { name: 'W', cli: 'claude', task: 'Go.' } }] })
    world.model.script(inTurn(hires, completes('done')))
    const run = await post(world.http, '/api/run.start', { contract: 'Hire.' }, asking)
    expect(run.error).toBeUndefined()
    await until(
      async () => (await world.http.api('run.status', { runs: [run.id] })).body.runs[0].status === 'completed',
    )
    expect(world.model.asked[1]?.results.join()).toMatch(/unavailable tool|not installed|not known where/)
    expect((await world.http.api('worker.list', { all: true })).body.workers).toEqual([])
    return world.model.asked[0]?.tools ?? []
  }

  test('on an open port, by a token, and by the key', async () => {
    world = await RunsWorld.start('anthropic', {}, { isOpen: true })
    expect(await toolsOf({})).not.toContain('relay_spawn')
    expect(await toolsOf({ 'x-relay-agent': 'Guest' })).not.toContain('relay_spawn')
    expect(await toolsOf(world.http.as('Boss'))).toContain('relay_spawn')
    await world.stop()
    world = await RunsWorld.start()
    const shown = { authorization: `Bearer ${await world.http.token('Ada')}` }
    expect(await toolsOf(shown)).not.toContain('relay_spawn')
    expect(await toolsOf(world.http.as('Boss'))).toContain('relay_spawn')
    await world.http.api('workspace.set-policy', { spawn: 'clis' })
    expect(await toolsOf(shown)).toContain('relay_spawn')
  })

  test('starting MCP servers of a trusted file needs the same rights as starting programs', async () => {
    world = await RunsWorld.start('anthropic', {}, { isOpen: true }, 'shop')
    await openThere(world.http)
    mkdirSync(join(project, '.relay'), { recursive: true })
    const mcpServers = { server: { command: 'touch', args: [marks[0]] } }
    writeFileSync(join(project, '.relay', 'config.json'), JSON.stringify({ mcpServers }))
    const begin = (headers: Record<string, string>, cwd = project) =>
      post(world.http, '/api/run.start', { contract: 'Go.', cwd }, headers)
    world.model.script(completes('done'))
    // Not trusted, it gives nothing to anybody.
    expect((await begin({})).status).toBe('running')
    trustConfig(projectConfig(project, world.http.dir) as ProjectConfigFile, world.http.dir)
    expect((await begin({})).error.code).toBe('spawn.denied')
    expect((await begin({ 'x-relay-agent': 'Guest' })).error.code).toBe('spawn.denied')
    expect(existsSync(join(project, 'was-here'))).toBe(false)
    expect((await begin(world.http.as('Boss'))).status).toBe('running')
    await until(() => existsSync(join(project, 'was-here')))
    rmSync(join(project, '.relay'), { recursive: true })
    // Elsewhere there may be another project, with a model's address of its own.
    for (const cwd of [...elsewhere(), world.http.dir])
      expect([cwd, (await begin({}, cwd)).error]).toEqual([cwd, outsideOf(cwd)])
    expect((await begin({}, 'deeper')).status).toBe('running')
    expect((await begin(world.http.as('Boss'), outside)).status).toBe('running')
  })
})

describe('where a program works', () => {
  let world: HttpWorld
  afterEach(() => world.stop())
  const start = async () => {
    world = await HttpWorld.start({}, ['shop'], { harnesses: [claude, plainHarness] })
  }
  const hire = (input: object = {}) =>
    world.api('worker.spawn', { name: 'Cli', cli: 'claude', ...input }, world.as('Boss'))
  const release = () => world.api('worker.release', { name: 'Cli' }, world.as('Boss'))

  test('never in the data directory, nor below it, whatever links lead there', async () => {
    await start()
    symlinkSync(world.dir, join(root, 'data-link'))
    mkdirSync(join(world.dir, 'projects', 'sub'), { recursive: true })
    const places = [
      world.dir,
      join(world.dir, 'projects', 'sub'),
      join(root, 'data-link'),
      join(root, 'data-link', 'projects'),
    ]
    for (const cwd of places) {
      const { status, body } = await hire({ cwd })
      expect([cwd, status, body.error.code]).toEqual([cwd, 403, 'directory.private'])
      const run = await world.api('run.start', { contract: 'Go.', harness: 'claude', cwd }, world.as('Boss'))
      expect(run.body.error.code).toBe('directory.private')
    }
    rmSync(join(root, 'data-link'))
    expect((await hire({ cwd: join(root, 'nowhere') })).body.error.code).toBe('directory.unknown')
  })

  test("in the project's directory, else in the spawner's, else refused with the fix", async () => {
    await start()
    const refused = (await hire()).body.error
    expect([refused.code, refused.message]).toEqual([
      'directory.required',
      expect.stringMatching(/directory \(cwd\).*agent-relay up$/),
    ])
    expect((await hire({ cwd: 'deeper' })).body.error.code).toBe('directory.required')
    expect((await hire({ cwd: outside })).body.worker.cwd).toBe(outside)
    await release()
    const local = await socketConnector(socketPathOf(world.dir, 'shop'))({ name: 'Local', cwd: outside })
    const hired = await local.call('worker.spawn', { name: 'Near', cli: 'claude' }, id('c'))
    expect(hired.worker.cwd).toBe(outside)
    await local.call('worker.release', { name: 'Near' }, id('c'))
    await local.close()
    await openThere(world)
    expect((await hire()).body.worker.cwd).toBe(project)
    await release()
    expect((await hire({ cwd: 'deeper' })).body.worker.cwd).toBe(join(project, 'deeper'))
  })
})
