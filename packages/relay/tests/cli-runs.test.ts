// Runs at the command line against a scripted model, a project's own settings before and after they are trusted, and a daemon that dies.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ModelServer } from '../../../test/bench/model-server.ts'
import { World } from './cli-world.ts'
import { until } from './http-world.ts'
import { calls, completes, inTurn } from './runs-world.ts'

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

const startDaemon = (env: Record<string, string> = model.env()) => world.run(['daemon', 'start'], { env })
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
    /completed\n.*\n {2}payload 17 B[\s\S]* {2}All 42 pass\./,
  )
  model.script(() => new Promise(() => {}))
  const started = await world.run(['runs', 'start', '--contract', 'Wait.'])
  const other = /^run_\w+/.exec(started.stdout)?.[0] as string
  expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/started: run-\w+ \(loop\), for /) })
  expect(await world.run(['runs', 'stop', other])).toMatchObject({ code: 0, stdout: `${other} stopped.\n` })
  expect((await world.run(['runs', 'stop', id])).stdout).toBe(`${id} had completed already.\n`)
  expect((await world.run(['events', '--type', 'run.*'])).stdout).toMatch(
    /completes "All 42 pass\." with 17 B of payload/,
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
  for (const mend of ['RELAY_LLM_PROVIDER', 'RELAY_LLM_API_KEY', 'RELAY_MODEL', 'harness claude'])
    expect(unset.stderr).toContain(mend)
  expect(json.code).toBe(1)
  expect(JSON.parse(json.stdout)).toMatchObject({ status: 'stopped', stopReason: expect.stringMatching(/^No model/) })
  expect(absent).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/stopped: .*gemini/) })
  expect(await world.run(['inbox'])).toMatchObject({ stdout: '' })
  for (const [args, code, text] of [
    [['start'], 2, /--contract/],
    [['start', '--contract', 'x', '-f', 'y'], 2, /give one of them/],
    [['start', '-f', 'no-such-file'], 2, /-f no-such-file: there is no such file/],
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
  await startDaemon()
  model.script(() => new Promise(() => {}))
  const { id } = await world.json<{ id: string }>(['runs', 'start', '--contract', 'Take long.'])
  const external = await world.json<{ id: string }>(['runs', 'start', '--contract', 'x', '--harness', 'external'])
  await until(() => model.asked.length === 1, 15_000)
  const { pid } = await world.json<{ pid: number }>(['daemon', 'status'])
  process.kill(pid, 'SIGKILL')
  await until(() => !isAlive(pid))
  await startDaemon()
  // Told by the one that found it, and by no later one.
  await world.run(['daemon', 'stop'])
  await startDaemon()
  const { messages } = await world.json<{ messages: { from: string; body: string }[] }>(['inbox', '--peek'])
  expect(messages.map(({ from, body }) => `${from}: ${body}`)).toEqual([
    expect.stringMatching(/^agent-relay: Run run_\w+ \(run-\w{6}\) is stopped: The daemon ended while this ran\.\n/),
  ])
  expect(messages[0]?.body).toContain(`agent-relay runs status ${id}`)
  expect(await statusOf(id)).toMatchObject({ status: 'stopped', stopReason: 'The daemon ended while this ran.' })
  // Whoever carries out an external run did not go with the daemon.
  expect(await statusOf(external.id)).toMatchObject({ status: 'running' })
  expect(model.asked).toHaveLength(1)
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) Z/.test(existsSync(`/proc/${pid}/stat`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : '')
  } catch {
    return false
  }
}

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
    const trusted = await world.run(['trust'])
    expect(trusted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/config\.json is trusted as it stands now/),
    })
    expect(trusted.stderr).toMatch(
      /model: openai-compatible project-model[\s\S]*MCP server files runs: .*project-server\.mjs/,
    )
    expect(await run()).toMatchObject({ code: 0, stdout: `read abc in ${world.cwd}\n` })
    expect(model.asked[0]).toMatchObject({ api: 'openai', model: 'project-model' })
    // Another content is another file.
    write({ llm, mcpServers, changed: true })
    expect((await run()).stderr).toMatch(/is not trusted/)
    await world.run(['trust'])
    expect((await world.run(['trust', '--revoke'])).stdout).toMatch(/no longer trusted/)
    expect((await run()).stderr).toMatch(/is not trusted/)
    expect((await world.run(['trust', '--revoke'])).stdout).toMatch(/was not trusted/)
  })

  test('a server that cannot be started leaves the run without its tools, and says so', async () => {
    await startDaemon()
    write({ mcpServers: { broken: { command: join(world.cwd, 'no-such-program') } } })
    await world.run(['trust'])
    let preview: string | undefined
    model.script(async (asked) => {
      preview = (await statusOf(asked.agentId)).preview
      return completes(asked.tools.filter((name) => name.startsWith('broken')).join())(asked)
    })
    expect(await run()).toMatchObject({ code: 0 })
    expect(preview).toMatch(/The MCP server broken is not there/)
  })

  test('a file that makes no sense is named', async () => {
    await startDaemon()
    write({ mcpServers: { files: { command: 7 } } })
    expect(await world.run(['trust'])).toMatchObject({ code: 78, stderr: expect.stringMatching(/config\.json/) })
    expect((await run()).stderr).toMatch(/stopped: It failed: .*config\.json/)
  })
})
