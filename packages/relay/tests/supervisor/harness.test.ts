// The command line of every harness, word for word: the program, its files and variables, and the texts that never stand in an argument.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { claudeHarness } from '../../src/supervisor/harness/claude.ts'
import { codexHarness } from '../../src/supervisor/harness/codex.ts'
import { droidHarness } from '../../src/supervisor/harness/droid.ts'
import { geminiHarness } from '../../src/supervisor/harness/gemini.ts'
import type { Harness, LaunchContext } from '../../src/supervisor/harness/harness.ts'
import { harnesses, harnessOf } from '../../src/supervisor/harness/index.ts'
import { opencodeHarness } from '../../src/supervisor/harness/opencode.ts'

const identity = {
  RELAY_SOCKET: '/data/daemon.sock',
  RELAY_AGENT_NAME: 'Fixer',
  RELAY_AGENT_TYPE: 'agent',
  RELAY_STRICT_AGENT_NAME: '1',
  RELAY_AGENT_TOKEN: 'at_secret-of-fixer',
}
const context: LaunchContext = {
  directory: '/data/workers/w_1',
  server: { command: '/usr/bin/node', args: ['/opt/relay mcp.cjs', 'serve'] },
  hook: { command: '/usr/bin/node', args: ['/opt/relay mcp.cjs', 'hook'] },
  identity,
  args: [],
  cwd: '/home/me/my "app"',
  env: {},
  isInjected: true,
}
const withMcp = harnesses.filter(({ hasMcp, isAcpOnly }) => hasMcp && !isAcpOnly)
const launch = (harness: Harness, more: Partial<LaunchContext> = {}) => harness.launch({ ...context, ...more })

describe('claude', () => {
  test('its command line and files', () => {
    const { args, env, files = [], setupRuns: before } = launch(claudeHarness)
    expect(args).toEqual([
      '--mcp-config',
      '/data/workers/w_1/mcp.json',
      '--allowedTools',
      'mcp__agent-relay__*',
      '--settings',
      '/data/workers/w_1/settings.json',
    ])
    expect([env, before]).toEqual([{}, undefined])
    expect(files.map(({ path }) => path)).toEqual(['/data/workers/w_1/mcp.json', '/data/workers/w_1/settings.json'])
    expect(JSON.parse(files[0]?.text ?? '')).toEqual({
      mcpServers: {
        'agent-relay': {
          type: 'stdio',
          command: '/usr/bin/node',
          args: ['/opt/relay mcp.cjs', 'serve'],
          env: { NODE_EXTRA_CA_CERTS: '' },
          alwaysLoad: true,
        },
      },
    })
    const id = '12345678-1234-8123-8123-123456789abc'
    for (const [isContinued, flag] of [
      [false, '--session-id'],
      [true, '--resume'],
    ] as const)
      expect(launch(claudeHarness, { conversation: { id, isContinued }, args: ['do it'] }).args.slice(6)).toEqual([
        ...[flag, id, 'do it'],
      ])
    expect(['--resume', '-c', '--session-id=x', '--model'].map((flag) => claudeHarness.canContinue?.([flag]))).toEqual([
      ...[false, false, false, true],
    ])
    const hook = (words: string) => `exec /usr/bin/node '/opt/relay mcp.cjs' hook ${words} --worker`
    const now = (event: string) => ({ type: 'command', command: hook(`${event} --cli claude`), timeout: 5 })
    const wait = (event: string) => ({
      type: 'command',
      command: hook(`wait --cli claude ${event}`),
      timeout: 86_400,
      asyncRewake: true,
    })
    expect(JSON.parse(files[1]?.text ?? '')).toEqual({
      hooks: {
        SessionStart: [{ hooks: [now('SessionStart'), wait('SessionStart')] }],
        UserPromptSubmit: [{ hooks: [now('UserPromptSubmit'), wait('UserPromptSubmit')] }],
        PreToolUse: [{ matcher: 'Write|Edit|MultiEdit|NotebookEdit|Bash', hooks: [now('PreToolUse')] }],
        PostToolUse: [{ hooks: [now('PostToolUse')] }],
        PermissionRequest: [{ hooks: [{ ...now('PermissionRequest'), timeout: 86_400 }] }],
        Stop: [{ hooks: [now('Stop'), wait('Stop')] }],
      },
    })
  })

  test('the user has settings of its own: they stay, and no prompt is taken for one more tool', () => {
    const own = launch(claudeHarness, { args: ['--settings', 'mine.json'] })
    expect(own.args.slice(4)).toEqual(['--settings', 'mine.json'])
    expect(own.files).toHaveLength(1)
    expect(launch(claudeHarness, { args: ['do it', '--settings=mine.json'] }).args.slice(4)).toEqual([
      '--',
      'do it',
      '--settings=mine.json',
    ])
  })

  test('the model', () => {
    expect(launch(claudeHarness, { model: 'opus', args: ['-c'] }).args.slice(-3)).toEqual(['--model', 'opus', '-c'])
  })
})

test.each([
  [codexHarness, ['resume'], ['fork', 'do it']],
  [opencodeHarness, ['--session'], ['-s', '--continue', '--port=1']],
] as const)('one goes on in the conversation that its server named: %#', (harness, [flag], chosen) => {
  const id = 'its-own'
  const { args, companion } = launch(harness, { conversation: { id, isContinued: true }, args: [] })
  for (const all of [args, ...(companion ? [companion.clientArgs] : [])]) expect(all[all.indexOf(flag) + 1]).toBe(id)
  expect(launch(harness, {}).args).not.toContain(flag)
  expect(harness.canContinue?.([])).toBe(true)
  for (const each of chosen) expect(harness.canContinue?.([each])).toBe(false)
  // The id becomes an argument.
  for (const wrong of ['--yolo', '-c', '', 'a b', '01a1df09-0000-4000-8000-00000000000x\n--yolo'])
    expect(harness.conversationIds?.test(wrong)).toBe(false)
})

describe('codex', () => {
  test('its command line', () => {
    const { args, env, files, setupRuns: before } = launch(codexHarness, { model: 'gpt-5.2', args: ['--search'] })
    expect(args).toEqual([
      '--no-daemon',
      '-c',
      'mcp_servers.agent-relay={command="/usr/bin/node",args=["/opt/relay mcp.cjs","serve"],env_vars=["RELAY_SOCKET","RELAY_AGENT_NAME","RELAY_AGENT_TYPE","RELAY_STRICT_AGENT_NAME","RELAY_AGENT_TOKEN"],required=true,default_tools_approval_mode="approve"}',
      '-c',
      'projects={"/home/me/my \\"app\\""={trust_level="trusted"}}',
      '-c',
      'shell_environment_policy.set.RELAY_AGENT_TOKEN=""',
      '-m',
      'gpt-5.2',
      '--search',
    ])
    expect([env, files, before]).toEqual([{}, undefined, undefined])
  })
})

describe('opencode', () => {
  const entry = {
    type: 'local',
    command: ['/usr/bin/node', '/opt/relay mcp.cjs', 'serve'],
    environment: { NODE_EXTRA_CA_CERTS: '' },
    enabled: true,
  }

  test('its command line and variables', () => {
    const { args, env, files } = launch(opencodeHarness, { port: 4_096, model: 'a/b', args: ['-c'] })
    expect(args).toEqual(['--agent', 'agent-relay', '--port', '4096', '-m', 'a/b', '-c'])
    expect(files).toBeUndefined()
    expect(Object.keys(env)).toEqual(['OPENCODE_CONFIG_CONTENT', 'OPENCODE_SERVER_PASSWORD'])
    expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '')).toEqual({
      mcp: { 'agent-relay': entry },
      agent: { 'agent-relay': { mode: 'primary', description: 'Works with other agents through Agent Relay' } },
    })
    expect(env.OPENCODE_SERVER_PASSWORD).toMatch(/^[0-9a-f]{64}$/)
  })

  test('what the user has put into the same variable stays', () => {
    const own = {
      model: 'a/b',
      mcp: { other: { type: 'remote', url: 'http://x' } },
      agent: { mine: { mode: 'primary' } },
    }
    const { env } = launch(opencodeHarness, { env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(own) } })
    expect(JSON.parse(env.OPENCODE_CONFIG_CONTENT ?? '')).toMatchObject({
      ...own,
      mcp: { ...own.mcp, 'agent-relay': entry },
    })
    expect(() => launch(opencodeHarness, { env: { OPENCODE_CONFIG_CONTENT: '{' } })).toThrow('not a JSON object')
  })

  test('a message runs as the agent that the worker was started as, in a mode that only reads too', async () => {
    const agents: unknown[] = []
    const server = createServer(async (request, response) => {
      if (request.method === 'POST') agents.push(((await json(request)) as { agent?: string }).agent)
      response.end(request.method === 'POST' ? '' : JSON.stringify([{ id: 's' }]))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const send = (isInjected: boolean, ...args: string[]) =>
      opencodeHarness.cliServer?.({ ...context, port, isInjected, args })?.send?.('x')
    await send(true)
    await send(false, '-c', '--agent', 'plan')
    await send(false, '--agent=plan')
    await send(false, '-c')
    server.close()
    expect(agents).toEqual(['agent-relay', 'plan', 'plan', undefined])
  })

  test('without a port there is no server to talk to', async () => {
    expect(launch(opencodeHarness).args).toEqual(['--agent', 'agent-relay'])
    expect(opencodeHarness.cliServer?.(context)).toBeUndefined()
  })
})

describe('gemini', () => {
  test('its command line, and the entry that is made once', () => {
    const { args, env, files, setupRuns: before } = launch(geminiHarness, { model: 'flash' })
    expect([args, files]).toEqual([['-m', 'flash'], undefined])
    expect(env).toEqual({ GEMINI_CLI_TRUST_WORKSPACE: 'true' })
    const variables = [...Object.keys(identity), 'RELAY_BASE_URL', 'RELAY_WORKER'].flatMap((name) => [
      `${name}=$${name}`,
    ])
    const [add] = before ?? []
    expect(add?.args.filter((arg) => arg.startsWith('RELAY_')).sort()).toEqual(variables.sort())
    expect(add?.args.filter((arg) => !arg.startsWith('RELAY_') && arg !== '-e')).toEqual([
      'mcp',
      'add',
      '-s',
      'user',
      '--trust',
      'agent-relay',
      '/usr/bin/node',
      '/opt/relay mcp.cjs',
      'serve',
    ])
  })

  test('the entry is the same for every worker', () => {
    const other = { ...identity, RELAY_AGENT_NAME: 'Other', RELAY_AGENT_TOKEN: 'at_other' }
    const more = { identity: other, directory: '/data/workers/w_2', cwd: '/', port: 1 }
    expect(launch(geminiHarness, more).setupRuns).toEqual(launch(geminiHarness).setupRuns)
  })
})

test('droid: its command line, and a file of its own with our server and the model', () => {
  const { args, env, files, setupRuns: before } = launch(droidHarness, { model: 'm', args: ['--auto', 'low'] })
  const path = `${context.directory}/settings.json`
  expect([args, env, before]).toEqual([['--settings', path, '--auto', 'low'], {}, undefined])
  expect(files?.map((file) => ({ ...file, text: JSON.parse(file.text) }))).toEqual([
    {
      path,
      text: {
        mcp: {
          mcpServers: {
            'agent-relay': {
              type: 'stdio',
              command: '/usr/bin/node',
              args: ['/opt/relay mcp.cjs', 'serve'],
              env: { NODE_EXTRA_CA_CERTS: '' },
            },
          },
        },
        mcpAutonomyOverrides: { 'agent-relay': { defaultLevel: 'low' } },
        sessionDefaultSettings: { model: 'm' },
      },
    },
  ])
  expect(launch(droidHarness, { isInjected: false, args: ['--settings', 'mine'] }).files).toBeUndefined()
})

test('goose and aider are known by name, and have no MCP of ours', () => {
  const [goose, aider] = ['goose', 'aider'].map((name) => harnessOf(name) as Harness) as [Harness, Harness]
  expect(launch(goose, { args: ['--debug'] })).toEqual({ args: ['session', '--debug'], env: {} })
  expect(launch(aider)).toEqual({ args: [], env: {} })
  expect([goose.hasMcp, aider.hasMcp]).toEqual([false, false])
})

test('gemini and copilot over ACP: their command lines, with nothing of the relay in them but the name of its server', () => {
  const copilot = harnessOf('copilot') as Harness
  expect(geminiHarness.acp?.launch({ ...context, model: 'm', args: ['--yolo'] })).toEqual({
    args: ['--acp', '-m', 'm', '--yolo'],
    env: { GEMINI_CLI_TRUST_WORKSPACE: 'true' },
  })
  // A folder is trusted for our server alone.
  expect(geminiHarness.acp?.launch({ ...context, isInjected: false })).toEqual({ args: ['--acp'], env: {} })
  expect(copilot.acp?.launch({ ...context, model: 'm', args: ['--no-color'] })).toEqual({
    args: ['--acp', '--allow-tool=agent-relay', '--model', 'm', '--no-color'],
    env: {},
  })
  expect([geminiHarness.acp?.mcp, copilot.acp?.mcp, copilot.isAcpOnly, geminiHarness.isAcpOnly]).toEqual([
    'stdio',
    'http',
    true,
    undefined,
  ])
  expect(copilot.bringsOwnMcp(['--additional-mcp-config', '@mine.json'])).toBe(true)
})

describe('all of them', () => {
  test('are found by name, and say how they are installed', () => {
    for (const harness of withMcp) {
      expect(harnessOf(harness.name)).toBe(harness)
      expect(harness.install).toMatch(/^npm install -g /)
    }
    expect(harnessOf('nope')).toBeUndefined()
  })

  test.each(withMcp)('$name: the token stands in no argument and in no file', (harness) => {
    const { args, files = [], setupRuns: before = [], env } = launch(harness, { port: 4_096 })
    const said = JSON.stringify([args, files, before, env])
    expect(said).not.toContain('at_secret-of-fixer')
  })

  test.each(withMcp)('$name: nothing of the relay where the user brings its own', (harness) => {
    const { args, files, setupRuns: before, env } = launch(harness, { isInjected: false, args: ['own'] })
    expect(args.filter((arg) => arg !== '--no-daemon')).toEqual(['own'])
    expect([files, before, env]).toEqual([undefined, undefined, {}])
  })
})

describe('arguments that bring MCP servers of their own', () => {
  test.each<[Harness, string[]]>([
    [claudeHarness, ['--mcp-config', 'mine.json']],
    [claudeHarness, ['--mcp-config=mine.json']],
    [claudeHarness, ['--strict-mcp-config']],
    [codexHarness, ['-c', 'mcp_servers.agent-relay={command="x"}']],
    [codexHarness, ['--config=mcp_servers.agent-relay.command="x"']],
    [codexHarness, ['-c', 'mcp_servers.relaycast.command="x"']],
    [codexHarness, ['-c', 'mcp_servers={}']],
    [opencodeHarness, ['--agent', 'build']],
    [opencodeHarness, ['--agent=build']],
    [geminiHarness, ['--allowed-mcp-server-names', 'x']],
    [droidHarness, ['--settings', 'mine.json']],
  ])('$name %j', (harness, args) => {
    expect(harness.bringsOwnMcp(args)).toBe(true)
  })

  test.each<[Harness, string[]]>([
    [claudeHarness, ['--model', 'opus', 'about mcp']],
    [codexHarness, ['-c', 'mcp_servers.other={command="x"}']],
    [opencodeHarness, ['-m', 'a/b']],
    [geminiHarness, ['--yolo']],
    [droidHarness, ['--auto', 'low']],
  ])('others do not: $name %j', (harness, args) => {
    expect(harness.bringsOwnMcp(args)).toBe(false)
  })
})
