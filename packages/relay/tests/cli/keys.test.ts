// Keys, policy, tokens, actions and `mcp start` at the command line, with the exit code of each outcome.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectRelay, type Relay } from '@agent-relay/sdk'
import { socketPathOf } from '@agent-relay/sdk/internal/discover'
import { socketConnector } from '@agent-relay/sdk/wire'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { launcher, Running, World } from './cli-world.ts'

const world = new World()
beforeAll(async () => {
  await world.serve()
})
afterAll(() => world.close())
const keyIn = (name: string): string | undefined => {
  const { workspaces } = JSON.parse(readFileSync(join(world.dataDir, 'credentials.json'), 'utf8'))
  return Object.values(workspaces as Record<string, { name: string; key: string }>).find((one) => one.name === name)
    ?.key
}
const socketPath = socketPathOf(world.dataDir, 'app')

describe('workspace key', () => {
  test('prints the key of this directory, or of the one that is named, and nothing else', async () => {
    const { code, stdout } = await world.run(['workspace', 'key'])
    expect([code, stdout]).toEqual([0, `${keyIn('app')}\n`])
    const { stdout: made } = await world.run(['workspace', 'create', 'second'])
    expect(await world.json(['workspace', 'key', 'second'])).toEqual({ workspace: 'second', key: made.trim() })
  })

  test('of a workspace that does not exist is refused, with or without --rotate', async () => {
    const plain = await world.run(['workspace', 'key', 'secnd'])
    expect([plain.code, plain.stdout]).toEqual([1, ''])
    expect(plain.stderr).toMatch(/^No workspace "secnd" is open here\. Did you mean second\? /)
    expect(await world.run(['workspace', 'key', 'secnd', '--rotate'])).toEqual(plain)
    expect((await world.run(['workspace', 'key', 'no name'])).code).toBe(2)
  })

  test('--rotate makes a new one; whoever follows goes on with it, and misses nothing', async () => {
    const former = keyIn('app') as string
    const tail = world.start(['tail', '--type', 'message.created'])
    await tail.says(/Following app/)
    const other = await connectRelay({ name: 'Ann', key: former, socketPath })
    const { code, stdout } = await world.run(['workspace', 'key', '--rotate'])
    expect([code, stdout.trim()]).toEqual([0, keyIn('app')])
    expect(stdout.trim()).not.toBe(former)
    await tail.says(/key was replaced/)
    await world.run(['send', '#general', 'after the rotation'])
    await tail.says(/after the rotation/)
    expect((await tail.stop()).code).toBe(0)
    await expect(other.agents.list()).rejects.toThrow()
    await other.close()
    await expect(connectRelay({ key: former, socketPath })).rejects.toMatchObject({ code: 'auth.denied' })
  })
})

describe('workspace key in a script, which has no terminal', () => {
  const ask = [process.execPath, launcher, 'workspace', 'key', 'app']
  /** A program of an agent's, which runs the command once it is told to. */
  const host = async (script: string) => {
    const running = new Running(spawn('sh', ['-c', script, ...ask], { cwd: world.cwd, env: world.env }))
    const link = await socketConnector(socketPath)({ name: 'Ann', host: running.child.pid })
    onTestFinished(async () => {
      await link.close()
      running.child.kill('SIGKILL')
    })
    return { link, running, say: () => running.child.stdin?.write('go\n'), ended: running.ended }
  }

  test('works while an agent is connected, and while none is', async () => {
    const key = `${keyIn('app')}\n`
    expect(await world.launch(['workspace', 'key'])).toEqual({ code: 0, stdout: key, stderr: '' })
    const { say, ended } = await host('read line')
    expect(await world.launch(['workspace', 'key'])).toEqual({ code: 0, stdout: key, stderr: '' })
    // Whoever may give rights is still asked for a terminal.
    expect(await world.launch(['workspace', 'policy', 'set', '--writers', 'none'])).toMatchObject({ code: 77 })
    say()
    await ended
  })

  test('is refused inside the processes of an agent, connected or not, with every option', async () => {
    const before = keyIn('app')
    for (const option of ['', '--rotate', '--keep'])
      for (const isConnected of [true, false]) {
        const { link, say, ended } = await host(`read line; "$0" "$@" ${option}; exit $?`)
        if (!isConnected) await link.close()
        say()
        const { code, stdout, stderr } = await ended
        expect([code, stdout, stderr]).toEqual([
          77,
          '',
          expect.stringContaining('the calling process belongs to the agent Ann'),
        ])
      }
    expect(keyIn('app')).toBe(before)
  })

  test.runIf(process.platform === 'linux')(
    'a process that has left its parents cannot be told apart from one',
    async () => {
      const { say, running } = await host('read line; (setsid "$0" "$@" &); read line')
      say()
      await running.says(/^rk_/)
      expect(running.stdout).toBe(`${keyIn('app')}\n`)
    },
  )
})

describe('workspace policy', () => {
  test('is closed at first, and set part by part', async () => {
    expect(await world.json(['workspace', 'policy', 'get'])).toEqual({
      terminal: {},
      writers: [],
      spawn: 'none',
      worktree: false,
      claims: 'deny',
      approve: [],
    })
    await world.run(['workspace', 'policy', 'set', '--writers', 'second,docs'])
    await world.run(['workspace', 'policy', 'set', '--terminal', 'Lead=*', '--terminal', 'Bob=Ann,Cyd'])
    const terminal = { Lead: ['*'], Bob: ['Ann', 'Cyd'] }
    expect(await world.json(['workspace', 'policy', 'get'])).toEqual({
      terminal,
      writers: ['second', 'docs'],
      spawn: 'none',
      worktree: false,
      claims: 'deny',
      approve: [],
    })
    const changed = await world.json(['workspace', 'policy', 'set', '--writers', '*', '--terminal', 'Bob=none'])
    expect(changed).toEqual({
      terminal: { Lead: ['*'] },
      writers: '*',
      spawn: 'none',
      worktree: false,
      claims: 'deny',
      approve: [],
    })
    expect(await world.json(['workspace', 'policy'])).toEqual(await world.json(['workspace', 'policy', 'get']))
    expect((await world.run(['workspace', 'policy', 'get'])).stdout).toMatch(
      /all workspaces[\s\S]*Lead sees +terminals of all/,
    )
    expect((await world.run(['workspace', 'policy', 'set', '--writers', 'none'])).stdout).toContain('nowhere else')
  })

  test('says what a token may start, and what each setting allows', async () => {
    expect((await world.run(['workspace', 'policy', 'get'])).stdout).toMatch(/spawn +none: .*starts no program/)
    const { stdout } = await world.run(['workspace', 'policy', 'set', '--spawn', 'clis'])
    expect(stdout).toMatch(/spawn +clis: .*starts the named CLIs.*in the project's directory/)
    expect((await world.run(['workspace', 'policy', 'set', '--spawn', 'all'])).code).toBe(2)
    expect(await world.json(['workspace', 'policy', 'set', '--spawn', 'none'])).toMatchObject({
      spawn: 'none',
      worktree: false,
      claims: 'deny',
    })
  })

  test('a change that says nothing, or nonsense, is a mistake of usage', async () => {
    for (const args of [[], ['--terminal', 'Lead'], ['--writers', 'no name']])
      expect((await world.run(['workspace', 'policy', 'set', ...args])).code).toBe(2)
  })

  test('a token may read it and not change it', async () => {
    const ann = await connectRelay({ name: 'Tok', socketPath })
    const env = { RELAY_AGENT_TOKEN: ann.token }
    expect((await world.run(['workspace', 'policy', 'get'], { env })).code).toBe(0)
    expect((await world.run(['workspace', 'policy', 'set', '--writers', '*'], { env })).code).toBe(77)
    await ann.close()
  })
})

describe('agents revoke', () => {
  test('makes the tokens invalid', async () => {
    const bob = await connectRelay({ name: 'Bob', socketPath })
    const env = { RELAY_AGENT_TOKEN: bob.token }
    expect((await world.run(['inbox'], { env })).code).toBe(0)
    expect((await world.run(['agents', 'revoke', 'Bob'])).code).toBe(0)
    expect((await world.run(['inbox'], { env })).code).toBe(77)
    expect((await world.run(['agents', 'revoke', 'Nobody'])).code).toBe(1)
    expect((await world.run(['agents', 'revoke'])).code).toBe(2)
    await bob.close()
  })
})

describe('actions', () => {
  let relay: Relay
  beforeAll(async () => {
    relay = await connectRelay({ name: 'Calc', socketPath })
    await relay.actions.register({
      name: 'math.half',
      description: 'Halves an even number.',
      inputSchema: z.object({ n: z.number() }),
      handler: ({ n }) => {
        if (n % 2 === 1) throw new Error('odd')
        return n / 2
      },
    })
  })
  afterAll(() => relay.close())

  test('list names them, invoke calls one, and events tell of it', async () => {
    expect((await world.run(['actions'])).stdout).toMatch(/math\.half +Calc +Halves an even number\./)
    expect(await world.run(['actions', 'invoke', 'math.half', '{"n": 8}'])).toMatchObject({ code: 0, stdout: '4\n' })
    const { ok, output } = await world.json(['actions', 'invoke', 'math.half', '-'], { input: '{"n": 6}' })
    expect([ok, output]).toEqual([true, 3])
    const { stdout } = await world.run(['events', '--type', 'action.*'])
    expect(stdout).toMatch(/calls math\.half with 7 bytes[\s\S]*math\.half for .*: done in \d+ ms/)
  })

  test('what went wrong has its code, and the command fails', async () => {
    const failing: [string[], number, RegExp][] = [
      [['math.half', '{"n": 7}'], 1, /handler_failed: odd/],
      [['math.half', '{"n": "x"}'], 1, /invalid_input/],
      [['math.half'], 1, /invalid_input/],
      [['math.third', '{}'], 1, /unknown_action: There is no such action. All actions: agent-relay actions/],
      [['math.half', '{n: 8}'], 2, /not JSON/],
      [[], 2, /missing required argument/],
    ]
    for (const [args, exit, says] of failing) {
      const { code, stderr } = await world.run(['actions', 'invoke', ...args])
      expect([args, code, stderr]).toEqual([args, exit, expect.stringMatching(says)])
    }
  })
})

describe('mcp', () => {
  const hello = [
    {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'host', version: '1' } },
    },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/list' },
  ]
  const input = hello.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('')
  const toolsOf = (stdout: string): string[] =>
    JSON.parse(stdout.trim().split('\n').at(-1) as string).result.tools.map(({ name }: { name: string }) => name)

  test('start serves the workspace that the key belongs to, from any directory', async () => {
    const cwd = world.directory('elsewhere')
    for (const name of ['app', 'second']) {
      const host = world.start(['mcp', 'start', '--workspace', keyIn(name) as string], { cwd })
      host.child.stdin?.write(input)
      // Once the input has ended, only a moment is waited for answers, and the first session loads the server.
      await host.says(/"tools":\[/)
      host.child.stdin?.end()
      const { code, stdout } = await host.ended
      expect([code, toolsOf(stdout)]).toEqual([0, expect.arrayContaining(['register_agent', 'send_message'])])
    }
    const env = { RELAY_WORKSPACE_KEY: keyIn('second') }
    expect((await world.launch(['mcp', 'start', '--tools', 'relay'], { cwd, env, input })).stdout).toContain(
      'relay_send',
    )
  })

  test('start with a key of no workspace is one clear line, and 77', async () => {
    const { code, stdout, stderr } = await world.launch(['mcp', 'start', '--workspace', 'rk_unknown'], { input })
    expect([code, stdout, stderr]).toEqual([77, '', 'Not allowed: no workspace that is open here has this key.\n'])
    expect((await world.launch(['mcp', 'start'], { input })).code).toBe(2)
    expect((await world.launch(['mcp', 'start', '--workspace', '$RELAY_WORKSPACE_KEY'], { input })).code).toBe(2)
    const env = { RELAY_DATA_DIR: world.directory('empty') }
    expect((await world.launch(['mcp', 'start', '--workspace', 'rk_x'], { env, input })).code).toBe(69)
  })

  test('serve is the pipe', async () => {
    const { code, stdout } = await world.launch(['mcp', 'serve', '--project', 'app'], { input })
    expect([code, toolsOf(stdout)]).toEqual([0, expect.arrayContaining(['relay_send', 'relay_inbox'])])
  })
})
