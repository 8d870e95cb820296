// Runs at the command line against a scripted model, a project's own settings before and after they are trusted, and a daemon that dies.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import type { Need } from '@agent-relay/sdk/protocol'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ModelServer } from '../../../../test/bench/model-server.ts'
import { isAlive } from '../../../../test/is-alive.ts'
import { until } from '../../../../test/until.ts'
import type { ProjectSettings } from '../../src/machine/trust.ts'
import { calls, completes, inTurn } from '../runs/runs-world.ts'
import { World } from './cli-world.ts'

/** With every key, at every depth. */
type Whole<T> = T extends unknown[] ? T : T extends object ? { [K in keyof T]-?: Whole<T[K]> } : T

const projectServer = fileURLToPath(new URL('project-server.mjs', import.meta.url))

let model: ModelServer
let world: World
beforeAll(async () => {
  model = await ModelServer.start()
})
afterAll(() => model.close())
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const startDaemon = (env: Record<string, string> = model.env()) => world.serve(env)
/** One that can be killed. */
const spawnDaemon = () => world.run(['daemon', 'start'], { env: model.env() })
type Status = { runs: { status: string; stopReason?: string; preview?: string; agent: string }[] }
const statusOf = async (id: string) => (await world.json<Status>(['runs', 'status', id])).runs[0] as Status['runs'][0]

test('start, wait, status, payload and stop', async () => {
  await startDaemon()
  model.script(completes('All 42 pass.', 'line one\nline two'))
  const file = join(world.cwd, 'contract.md')
  writeFileSync(file, 'Run the tests.')
  const waited = await world.run(['runs', 'start', '-f', file, '--wait'])
  expect(waited).toMatchObject({ code: 0, stdout: 'All 42 pass.\n' })
  expect(waited.stderr).toMatch(/^run_\w+ started: /)
  expect(waited.stderr).toMatch(/payload: 17 B. To have it: agent-relay runs payload run_/)
  expect(model.asked[0]?.system).toContain('Run the tests.')
  // The end stood on the screen: the inbox does not tell of it again.
  expect(await world.run(['inbox'])).toMatchObject({ stdout: '', stderr: 'No unread messages.\n' })
  const id = /run_\w+/.exec(waited.stderr)?.[0] as string
  expect(await world.run(['runs', 'payload', id])).toMatchObject({ code: 0, stdout: 'line one\nline two' })
  expect((await world.run(['runs'])).stdout).toMatch(
    /ID +STATUS[\s\S]*run_\w+ +completed +run-\w{6} +loop .*All 42 pass\./,
  )
  expect((await world.run(['runs', 'status', id])).stdout).toMatch(
    /completed\n {2}contract: Run the tests\.\n.*\n {2}15 tokens\n {2}payload 17 B[\s\S]* {2}All 42 pass\./,
  )
  model.script(() => new Promise(() => {}))
  const started = await world.run(['runs', 'start', '--contract', 'Wait.'])
  const other = /^run_\w+/.exec(started.stdout)?.[0] as string
  expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/started: run-\w+ \(loop\), for /) })
  expect(await world.run(['runs', 'stop', other])).toMatchObject({ code: 0, stdout: `${other} stopped.\n` })
  expect((await world.run(['runs', 'stop', id])).stdout).toBe(`${id} was already completed.\n`)
  expect((await world.run(['events', '--type', 'run.*'])).stdout).toMatch(
    /completes: All 42 pass\., with 17 bytes of payload \(run_/,
  )
})

test('what goes wrong, with its exit code', async () => {
  await startDaemon({ PATH: '/nowhere' })
  const stopped = await world.run(['runs', 'start', '--contract', 'x', '--wait'])
  expect(stopped).toMatchObject({ code: 1, stderr: expect.stringMatching(/run_\w+ stopped: No model is configured/) })
  // Also without --wait: nothing has started.
  const [unset, json, absent] = await Promise.all([
    world.run(['runs', 'start', '--contract', 'x']),
    world.run(['runs', 'start', '--contract', 'x', '--json']),
    world.run(['runs', 'start', '--contract', 'x', '--harness', 'gemini']),
  ])
  expect(unset).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^run_\w+ stopped: No model/) })
  for (const fix of ['RELAY_LLM_PROVIDER', 'RELAY_LLM_API_KEY', 'RELAY_MODEL', 'harness claude'])
    expect(unset.stderr).toContain(fix)
  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({ status: 'stopped', stopReason: expect.stringMatching(/^No model/) })
  expect(absent).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/stopped: .*gemini/) })
  expect(await world.run(['inbox'])).toMatchObject({ stdout: '' })
  for (const [args, code, text] of [
    [['start'], 2, /--contract/],
    [['start', '--contract', 'x', '-f', 'y'], 2, /give only one/],
    [['start', '-f', 'no-such-file'], 2, /-f no-such-file: there is no such file/],
    [['start', '-f', '.'], 2, /-f \.: it is a directory\./],
    [['start', '--contract', 'x', '--harness', 'vim'], 2, /Allowed choices/],
    [['status', 'run_none'], 1, /Agent not found: run_none/],
    [['stop', 'run_none'], 1, /Agent not found: run_none/],
    [['payload', 'run_none'], 1, /Agent not found: run_none/],
  ] as const) {
    const ran = await world.run(['runs', ...args])
    expect([args, ran.code, ran.stderr]).toEqual([args, code, expect.stringMatching(text)])
  }
})

test('a daemon killed in mid-run: the next one says that it stopped, and asks nothing more', async () => {
  await spawnDaemon()
  model.script(() => new Promise(() => {}))
  const { id } = await world.json<{ id: string }>(['runs', 'start', '--contract', 'Take long.'])
  const external = await world.json<{ id: string }>(['runs', 'start', '--contract', 'x', '--cli', 'external'])
  await until(() => model.asked.length === 1)
  const { pid } = await world.json<{ pid: number }>(['daemon', 'status'])
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
  await spawnDaemon()
  // Told by the one that found it, and by no later one.
  await world.run(['daemon', 'stop'])
  await spawnDaemon()
  const { messages } = await world.json<{ messages: { from: string; body: string }[] }>(['inbox', '--peek'])
  expect(messages.map(({ from, body }) => `${from}: ${body}`)).toEqual([
    expect.stringMatching(/^agent-relay: Run run_\w+ \(run-\w{6}\) is stopped: The daemon ended while this ran\.\n/),
  ])
  expect(messages[0]?.body).toContain(`agent-relay runs status ${id}`)
  expect(await statusOf(id)).toMatchObject({ status: 'stopped', stopReason: 'The daemon ended while this ran.' })
  // Whoever carries out an external run did not go with the daemon.
  expect(await statusOf(external.id)).toMatchObject({ status: 'running' })
  expect(model.asked).toHaveLength(1)
  const needs = async () => (await world.json<{ needs: Need[] }>(['needs'])).needs
  expect(await needs()).toMatchObject([{ key: `failed:${id}`, kind: 'failed', run: id, canRetry: true }])
  expect((await world.run(['needs'])).stderr).toContain(`agent-relay retry ${id}  ·  agent-relay needs dismiss failed:`)
  expect(await world.run(['retry', id, '--continue'])).toMatchObject({ code: 2, stdout: '' })
  const again = await world.json<{ id: string }>(['retry', id])
  expect(await needs()).toEqual([])
  await world.run(['runs', 'stop', again.id])
  expect(await needs()).toEqual([])
})

describe("a project's own settings", () => {
  const write = (settings: object) => {
    mkdirSync(join(world.cwd, '.relay'), { recursive: true })
    writeFileSync(join(world.cwd, '.relay', 'config.json'), JSON.stringify({ project: 'app', ...settings }))
  }
  const run = () => world.run(['runs', 'start', '--contract', 'Read.', '--wait'])

  test('a model and servers count only while the file is trusted as it stands', async () => {
    const mcpServers = { files: { command: process.execPath, args: [projectServer] } }
    const llm = { provider: 'openai-compatible', baseUrl: `${model.url}/v1`, model: 'project-model' }
    write({ llm, mcpServers })
    await startDaemon({})
    model.script(
      inTurn(calls('files_read', { word: 'abc' }), ({ results, ...asked }) =>
        completes(results.join())({ results, ...asked }),
      ),
    )
    const refused = await run()
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/is not trusted: agent-relay trust/) })
    expect(model.asked).toHaveLength(0)
    // Nobody can be asked here, and nothing is trusted by itself.
    expect(await world.run(['trust'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/agent-relay trust --yes/),
    })
    expect((await run()).stderr).toMatch(/is not trusted/)
    const trusted = await world.run(['trust', '--yes'])
    expect(trusted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/config\.json is trusted with its present content/),
    })
    expect(trusted.stderr).toMatch(
      /model: openai-compatible project-model[\s\S]*MCP server files runs: .*project-server\.mjs/,
    )
    expect(await run()).toMatchObject({ code: 0, stdout: `read abc in ${world.cwd}\n` })
    expect(model.asked[0]).toMatchObject({ api: 'openai', model: 'project-model' })
    // Another content is another file.
    write({ llm, mcpServers, changed: true })
    expect((await run()).stderr).toMatch(/is not trusted/)
    await world.run(['trust', '--yes'])
    expect((await world.run(['trust', '--revoke'])).stdout).toMatch(/no longer trusted/)
    expect((await run()).stderr).toMatch(/is not trusted/)
    expect((await world.run(['trust', '--revoke'])).stdout).toMatch(/was not trusted/)
  })

  test('a server that cannot be started leaves the run without its tools, and says so', async () => {
    await startDaemon()
    write({ mcpServers: { broken: { command: join(world.cwd, 'no-such-program') } } })
    await world.run(['trust', '--yes'])
    let preview: string | undefined
    model.script(async (asked) => {
      await until(async () => {
        preview = (await statusOf(asked.agentId)).preview
        return preview !== undefined
      })
      return completes(asked.tools.filter((name) => name.startsWith('broken')).join())(asked)
    })
    expect(await run()).toMatchObject({ code: 0 })
    expect(preview).toMatch(/The MCP server broken is not there/)
  })

  test('what is agreed to is shown whole', async () => {
    const env = { NODE_OPTIONS: '--require=/tmp/evil.js', LD_PRELOAD: '/tmp/a b\u200b.so' }
    const docs = { command: 'node', args: ['server.js', '-e', 'a b'], env, cwd: '/tmp/elsewhere' }
    const web = { url: 'https://example.org/mcp', headers: { Authorization: 'Bearer x', 'X-Other': 'y' } }
    write({ llm: { model: 'm', apiKey: 'sk-1' }, mcpServers: { docs, web }, harness: { claude: { args: ['--x'] } } })
    const { code, stderr } = await world.run(['trust', '--yes'])
    expect(code).toBe(0)
    expect(stderr).toContain(`  model: m with an API key of its own
  MCP server docs runs: node server.js -e "a b"
    in /tmp/elsewhere
    with NODE_OPTIONS=--require=/tmp/evil.js
    with LD_PRELOAD="/tmp/a b\\u200b.so"
  MCP server web: https://example.org/mcp
    with the headers Authorization, X-Other
  claude gets: --x
`)
    expect((await world.run(['trust', '--revoke'])).code).toBe(0)
  })

  test('every setting that there is, is shown', async () => {
    // The compiler asks for a setting that is new.
    const all: Whole<ProjectSettings> = {
      llm: { provider: 'openai', baseUrl: 'at-1', apiKey: 'secret', model: 'model-1' },
      mcpServers: {
        one: { command: 'program-1', args: ['word-1'], env: { NAME_1: 'value-1' }, cwd: 'folder-1' },
        two: { url: 'https://host-1', headers: { 'Header-1': 'secret' } },
      },
      harness: { claude: { args: ['word-2'], acp: ['program-2', 'word-3'] } },
      worktree: { directory: 'folder-2', copy: ['file-1'], submodules: ['folder-3'], setup: ['program-3', 'word-4'] },
    }
    write(all)
    const { stderr } = await world.run(['trust', '--yes'])
    const words = JSON.stringify(all).match(/[\w-]+-1|\w+-[2-9]|NAME_1/g) ?? []
    expect(words.length).toBeGreaterThan(15)
    expect(words.filter((each) => !stderr.includes(each))).toEqual([])
    expect(stderr).toContain('  claude runs instead: program-2 word-3\n')
    expect((await world.run(['trust', '--revoke'])).code).toBe(0)
  })

  test('a server starts where its file says, and never among the data of the relay', async () => {
    const server = { command: process.execPath, args: [projectServer] }
    const tools = world.directory('app/tools')
    write({ mcpServers: { near: { ...server, cwd: 'tools' }, inside: { ...server, cwd: world.dataDir } } })
    // In the background, as most run it: such a daemon's own directory is that of its data.
    await spawnDaemon()
    await world.run(['trust', '--yes'])
    model.script(
      inTurn(calls('near_read', { word: 'a' }), ({ results, ...asked }) =>
        completes([...results, ...asked.tools.filter((name) => name.startsWith('inside'))].join())({
          results,
          ...asked,
        }),
      ),
    )
    expect(await run()).toMatchObject({ code: 0, stdout: `read a in ${tools}\n` })
  })

  test('a run works in no directory of the relay, nor in one that is not there', async () => {
    await startDaemon()
    const ada = await socketConnector(socketPathOf(world.dataDir, 'app'))({ name: 'ada' })
    const start = (cwd: string) => ada.call('run.start', { contract: 'x', harness: 'loop', cwd }, cwd)
    await expect(start(world.dataDir)).rejects.toMatchObject({ code: 'directory.private' })
    await expect(start(join(world.cwd, 'none'))).rejects.toMatchObject({ code: 'directory.unknown' })
    await ada.close()
  })

  test('a file that makes no sense is named', async () => {
    await startDaemon()
    write({ mcpServers: { files: { command: 7 } } })
    expect(await world.run(['trust'])).toMatchObject({ code: 78, stderr: expect.stringMatching(/config\.json/) })
    expect((await run()).stderr).toMatch(/stopped: It failed: .*config\.json/)
  })
})
