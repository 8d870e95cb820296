// Start and end of the pipe: exit codes, texts on stderr, and the identity that it sends.

import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../../../test/until.ts'
import { daemonLauncher, type Json, PipeWorld } from './pipe-world.ts'

let world: PipeWorld
beforeAll(async () => {
  world = await PipeWorld.start()
})
afterEach(() => world.renew())
afterAll(() => world.close())

describe('the command line', () => {
  const run = async (...args: string[]) => {
    const pipe = world.pipe({}, args)
    let stdout = ''
    pipe.child.stdout?.removeAllListeners('data').on('data', (text) => {
      stdout += text
    })
    const { code, stderr } = await pipe.ended
    return { code, stdout, stderr }
  }

  test.each([[[]], [['--help']], [['serve', '--help']]])('%j shows how it is used', async (args) => {
    const { code, stdout, stderr } = await run(...args)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/Usage:\n {2}agent-relay-mcp <command>/)
  })

  test.each([
    ...[['--version'], ['serve', '--version'], ['install', '--version']],
    ...[['-v'], ['serve', '-v'], ['install', '-v']],
  ])('%j %j', async (...args) => {
    const { code, stdout } = await run(...args)
    expect([code, stdout]).toEqual([0, '0.1.0\n'])
  })

  test.each([
    [['fly'], 'Unknown command: fly\nRun with --help for usage\n'],
    [['serve', '--tool', 'x'], 'Unknown option: --tool\nRun with --help for usage\n'],
    [['serve', '--tools'], '--tools needs a value\nRun with --help for usage\n'],
  ])('%j is refused', async (args, text) => {
    const { code, stderr } = await run(...args)
    expect([code, stderr]).toEqual([1, text])
  })
})

test('agent-relay mcp serve is the same pipe', async () => {
  const args = ['mcp', 'serve', '--project', world.project, '--tools', 'relay']
  const pipe = world.pipe({ RELAY_AGENT_NAME: 'Cli', RELAY_PROJECT: '' }, args, daemonLauncher)
  await pipe.initialize()
  expect(await pipe.call('relay_status')).toContain('Agent Name: Cli')
  pipe.child.stdin?.end()
  expect(await pipe.ended).toEqual({ code: 0, stderr: '' })
})

describe('without a daemon', () => {
  const text = `ERROR: Relay daemon is not running. Start with: agent-relay daemon start

To start the daemon:
  agent-relay daemon start

Or for cloud workspaces, ensure the daemon is running.
`

  test.each([['no data directory', { RELAY_DATA_DIR: '/nonexistent', RELAY_PROJECT: '' }]])(
    '%s: it says so and ends with 1',
    async (_, env) => {
      expect(await world.pipe(env).ended).toEqual({ code: 1, stderr: text })
    },
  )

  test('a socket that is not there: it names it, and the daemon that runs', async () => {
    const { code, stderr } = await world.pipe({ RELAY_SOCKET: '/nonexistent/daemon.sock' }).ended
    expect([code, stderr]).toEqual([
      1,
      'ERROR: Relay daemon is not running at /nonexistent/daemon.sock, which RELAY_SOCKET names: nothing listens there. ' +
        `Another one runs, with workspace ${world.project} at ${world.socketPath}: unset RELAY_SOCKET to use it.\n`,
    ])
  })

  test('a prompt that is asked for says so', async () => {
    const pipe = world.pipe({ RELAY_DATA_DIR: '/nonexistent', RELAY_PROJECT: '', RELAY_STANDBY: '' })
    const { messages } = (await pipe.ask('prompts/get', { name: 'relay_protocol' })).result as Json
    expect(messages[0].content.text).toBe('Relay daemon is not running. Start with: agent-relay daemon start')
  })

  test('an address at which nobody answers, such as of a lift that is over, is named', async () => {
    const { code, stderr } = await world.pipe({ RELAY_BASE_URL: 'http://127.0.0.1:9', RELAY_SOCKET: '' }).ended
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^ERROR: No relay answers at http:\/\/127\.0\.0\.1:9\.\n/),
    ])
  })

  test('a socket file that a dead daemon left', async () => {
    const path = join(world.root, 'dead.sock')
    const server = createServer().listen(path)
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const pipe = world.pipe({ RELAY_SOCKET: path })
    // Somebody listened and hung up without a word: it may be on its way out, so the pipe goes on trying.
    server.on('connection', (socket) => socket.destroy())
    const id = pipe.post('tools/list')
    expect((await pipe.answer(id)).error.message).toContain('Relay daemon is not running.')
    pipe.child.stdin?.end()
    expect((await pipe.ended).code).toBe(0)
  })
})

test('with several workspaces and none named, it names them and guesses none', async () => {
  const dataDir = join(world.root, 'several')
  const servers = ['one', 'two'].map((name) => {
    mkdirSync(join(dataDir, 'projects', name), { recursive: true })
    return createServer().listen(join(dataDir, 'projects', name, 'daemon.sock'))
  })
  onTestFinished(() => {
    for (const server of servers) server.close()
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve))))
  const { code, stderr } = await world.pipe({ RELAY_DATA_DIR: dataDir, RELAY_PROJECT: '' }).ended
  expect(code).toBe(1)
  expect(stderr).toMatch(/^ERROR: Several workspaces are running: one, two\. Say which one/)
})

test('a workspace that is not there is named, on stderr and to the agent', async () => {
  const pipe = world.pipe({ RELAY_PROJECT: 'other' })
  const why = 'No workspace "other" is open here. To list all: agent-relay workspace list'
  const { result } = await pipe.ask('tools/call', { name: 'relay_who', arguments: {} })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(why) }] })
  pipe.child.stdin?.end()
  expect(await pipe.ended).toEqual({ code: 1, stderr: `ERROR: ${why}\n` })
})

test('a .relay/config.json that names no workspace: every answer says so, and none comes from the one that runs', async () => {
  const directory = join(world.root, 'typo')
  const file = join(directory, '.relay', 'config.json')
  mkdirSync(join(directory, '.relay'), { recursive: true })
  writeFileSync(file, '{"project":"my app"}')
  const pipe = world.pipe({ RELAY_PROJECT: '' }, undefined, undefined, directory)
  const why = `${file}: "project" is not a workspace name: 1 to 64 letters`
  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sh', version: '1' } }
  const { result } = await pipe.ask('initialize', client)
  expect(result).toMatchObject({ protocolVersion: '2025-11-25', instructions: expect.stringContaining(why) })
  pipe.say({ method: 'notifications/initialized' })
  expect(await pipe.ask('tools/list')).toMatchObject({ error: { message: expect.stringContaining(why) } })
  const called = await pipe.ask('tools/call', { name: 'relay_status', arguments: {} })
  expect(called.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining(why) }] })
  pipe.child.stdin?.end()
  expect(await pipe.ended).toMatchObject({ code: 1, stderr: expect.stringContaining(`ERROR: ${why}`) })
})

describe('who it is', () => {
  const nameOf = async (env: Record<string, string>, clientName = 'claude-code') => {
    const pipe = world.pipe(env)
    await pipe.initialize(clientName)
    const status = await pipe.call('relay_status')
    return { pipe, name: /Agent Name: (.*)/.exec(status)?.[1] }
  }

  test('the name it is given', async () => {
    expect((await nameOf({ RELAY_AGENT_NAME: 'Kim' })).name).toBe('Kim')
  })

  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: this is how hosts pass on what they did not replace
  test.each(['', '  ', '${RELAY_AGENT_NAME}', '$RELAY_AGENT_NAME', '${env:RELAY_AGENT_NAME}'])(
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: only there
    '%j means that none was given',
    async (value) => {
      const unset = {
        RELAY_AGENT_NAME: value,
        RELAY_AGENT_TOKEN: value,
        RELAY_AGENT_TYPE: value,
        RELAY_STRICT_AGENT_NAME: value,
        RELAY_TOOLS: value,
        RELAY_PUSH: value,
        RELAY_WORKSPACE_KEY: value,
        RELAY_API_KEY: value,
        RELAY_SOCKET: value,
      }
      const { name, pipe } = await nameOf(unset, 'Gemini CLI')
      expect(name).toBe('gemini-cli')
      pipe.child.stdin?.end()
      await pipe.ended
    },
  )

  test('a second agent of the same kind gets a number', async () => {
    expect((await nameOf({}, 'opencode')).name).toBe('opencode')
    expect((await nameOf({}, 'opencode')).name).toBe('opencode-2')
  })

  test('a strict name that is taken ends it with 1', async () => {
    await nameOf({ RELAY_AGENT_NAME: 'Lea' })
    const { code, stderr } = await world.pipe({ RELAY_AGENT_NAME: 'Lea', RELAY_STRICT_AGENT_NAME: '1' }).ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^ERROR: .*Lea.*/)
  })

  test('an unknown toolset ends it with 1, by option and by variable; the option goes first', async () => {
    const text = 'ERROR: Unknown toolset: nope. There are: relay'
    const byOption = await world.pipe({ RELAY_TOOLS: 'relay' }, ['serve', '--tools', 'relay,nope']).ended
    const byVariable = await world.pipe({ RELAY_TOOLS: 'nope' }).ended
    for (const { code, stderr } of [byOption, byVariable]) {
      expect(code).toBe(1)
      expect(stderr).toContain(text)
    }
    const pipe = world.pipe({ RELAY_TOOLS: 'nope' }, ['serve', '--tools=relay', '--project', world.project])
    expect((await pipe.ask('ping')).result).toEqual({})
  })

  test.each([
    ['a wrong key', { RELAY_WORKSPACE_KEY: 'rk_wrong' }],
    ['a wrong token', { RELAY_AGENT_NAME: 'Mo', RELAY_AGENT_TOKEN: 'at_wrong' }],
    ['a person without the key', { RELAY_AGENT_NAME: 'Mo', RELAY_AGENT_TYPE: 'human' }],
    ['a type that there is not', { RELAY_AGENT_TYPE: 'robot' }],
  ])('%s ends it with 1 and a reason', async (_, env) => {
    const { code, stderr } = await world.pipe(env).ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^ERROR: \w.+\n$/s)
  })
})

describe('how it ends', () => {
  test('input that ends is an end with 0, after the answers that are owed', async () => {
    // It waits for them for a second: a slow machine may need a second try.
    await until(async () => {
      const pipe = world.pipe()
      await pipe.initialize()
      const id = pipe.postCall('relay_who')
      pipe.child.stdin?.end()
      expect((await pipe.ended).code).toBe(0)
      return pipe.lines.find((line) => line.id === id)?.result
    })
  })

  test('a whole session from a file of lines', async () => {
    const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'sh', version: '1' } }
    let text: string | undefined
    await until(async () => {
      const pipe = world.pipe({ RELAY_AGENT_NAME: 'Script' })
      pipe.post('initialize', client)
      pipe.say({ method: 'notifications/initialized' })
      const id = pipe.postCall('relay_status')
      pipe.child.stdin?.end()
      expect(await pipe.ended).toEqual({ code: 0, stderr: '' })
      text = pipe.lines.find((line) => line.id === id)?.result.content[0].text
      return text
    })
    expect(text).toContain('Agent Name: Script')
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('%s is an end with 0', async (signal) => {
    const pipe = world.pipe()
    await pipe.initialize()
    pipe.child.kill(signal)
    expect(await pipe.ended).toEqual({ code: 0, stderr: '' })
  })

  test('a host that is gone ends it, even while it reads on', async () => {
    const pipe = world.pipe()
    await pipe.initialize()
    pipe.child.stdout?.destroy()
    const asking = setInterval(() => pipe.post('ping'), 20)
    onTestFinished(() => clearInterval(asking))
    expect((await pipe.ended).code).toBe(0)
  })

  test('its agent is away afterwards', async () => {
    const pipe = world.pipe({ RELAY_AGENT_NAME: 'Nel' })
    await pipe.initialize()
    await pipe.call('relay_status')
    pipe.child.stdin?.end()
    await pipe.ended
    const other = world.pipe({ RELAY_AGENT_NAME: 'Ole' })
    await other.initialize()
    await until(async () => !(await other.call('relay_who')).includes('Nel'))
  })
})
