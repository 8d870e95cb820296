// `lift` by hand: its output, the port, Ctrl-C, the separation of lifts from each other and from the user's daemon, and the project's files.

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, SSEClientTransport } from '@modelcontextprotocol/client'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { until } from '../../../../test/until.ts'
import { relayParagraph } from '../../src/cli/commands/lift/prompts.ts'
import { called as call, type Json } from '../wires/http-world.ts'
import { type Running, shellWords, World, withoutWaiting } from './cli-world.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))
const world = new World()
const clients: Client[] = []
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
})
afterAll(() => world.close())

const portOf = ({ stdout }: Running) => Number(/http:\/\/localhost:(\d+)\/sse/.exec(stdout)?.[1])
/** What a lift leaves in the temporary directory. */
const leftovers = () => readdirSync(world.root).filter((name) => name.startsWith('agent-relay-lift-'))

async function lift(...args: string[]): Promise<Running> {
  const running = world.start(['lift', '--port', '0', ...args])
  await running.says(/^ready\. Messages appear below/m)
  return running
}

async function connect(port: number): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new SSEClientTransport(new URL(`http://localhost:${port}/sse`)))
  clients.push(client)
  return client
}

describe('by hand', () => {
  test('a block for each role, the feed, and nothing left after Ctrl-C', async () => {
    const running = await lift()
    for (const role of ['pm', 'dev-a', 'dev-b']) {
      expect(running.stdout).toContain(`── ${role}: paste into a fresh session ─`)
      expect(running.stdout).toContain(`read_messages(for="${role}")`)
    }
    // Without the tools the prompts are of no use: how to get them is said first.
    const configure = running.stdout.indexOf(`agent-relay lift --configure --port ${portOf(running)}`)
    expect(configure).toBeGreaterThan(-1)
    expect(configure).toBeLessThan(running.stdout.indexOf('── pm: paste'))
    const page = /^ {2}page +(http:\/\/127\.0\.0\.1:\d+)\/w\/[^/]+\/\?code=(\S+) +once/m.exec(running.stdout)
    const [, origin = '', code] = page as RegExpExecArray
    const headers = { 'content-type': 'application/json', 'x-relay-page': '1', origin }
    const login = () => fetch(`${origin}/session`, { method: 'POST', headers, body: JSON.stringify({ code }) })
    const [first, second] = [await login(), await login()]
    expect([first.status, second.status]).toEqual([204, 401])
    // The command for another link is this lift's own.
    const { command } = ((await second.json()) as { error: { details: { command: string } } }).error.details
    const [dataDir = '', own, ...words] = shellWords(command)
    expect([dataDir, own]).toEqual([expect.stringMatching(/^RELAY_DATA_DIR=/), 'agent-relay'])
    const RELAY_DATA_DIR = dataDir.slice('RELAY_DATA_DIR='.length)
    const another = await world.run([...words, '--no-open'], { env: { RELAY_DATA_DIR } })
    expect(another.stdout).toMatch(new RegExp(`^${origin}/\\S*\\?code=`))
    const client = await connect(portOf(running))
    const post = (body: string) => call(client, 'post_message', { from: 'dev-b', to: 'pm', kind: 'status', body })
    await post('Task P4 DONE,\n\u001b[31mlast\u0007 commit abc1234')
    await running.says(/\[\d\d:\d\d:\d\d\] dev-b → pm \[status\] "Task P4 DONE, last commit abc1234"\n/)
    await post('x'.repeat(1_000))
    await running.says(/"x{157}\.\.\."\n/)
    // Its reader is shown a part of it: the sender is told.
    const { content } = (await client.callTool({
      name: 'post_message',
      arguments: { from: 'dev-b', to: 'pm', kind: 'free', body: 'x'.repeat(30_000) },
    })) as Json
    expect(content.map(({ text }: Json) => text).join()).toMatch(/^\{"id":.*It is long: .* 24 KiB\. /s)
    expect(leftovers()).toHaveLength(1)
    // As the line `look in` says.
    const [socket] = shellWords(/RELAY_SOCKET=(.+) agent-relay who/.exec(running.stdout)?.[1] ?? '')
    expect((await world.run(['who'], { env: { RELAY_SOCKET: socket } })).stdout).toMatch(/^dev-b /m)
    expect((await running.stop()).code).toBe(0)
    expect(leftovers()).toEqual([])
    await expect(fetch(`http://localhost:${portOf(running)}/healthz`)).rejects.toThrow()
  })

  test('what a lift that was killed has left goes with the next one; that of another that runs stays', async () => {
    const [killed, other] = [await lift(), await lift()]
    killed.child.kill('SIGKILL')
    await until(() => killed.child.signalCode !== null)
    mkdirSync(join(world.root, 'agent-relay-lift-strange'))
    expect(leftovers()).toHaveLength(3)
    // Not at once: why a lift failed is read there.
    const young = await lift()
    expect(leftovers()).toHaveLength(4)
    const longAgo = new Date(Date.now() - 3_600_000)
    for (const name of leftovers()) utimesSync(join(world.root, name), longAgo, longAgo)
    const next = await lift()
    expect(leftovers()).toHaveLength(4)
    for (const running of [other, young, next]) await running.stop()
    expect(leftovers()).toEqual(['agent-relay-lift-strange'])
    rmSync(join(world.root, 'agent-relay-lift-strange'), { recursive: true })
  })

  test('a port that is taken: how to free it, and exit code 1', async () => {
    const first = await lift()
    const port = portOf(first)
    for (const mode of ['--manual', '--tmux']) {
      const { code, stderr, stdout } = await world.launch([
        'lift',
        mode,
        '--port',
        String(port),
        '--cli',
        process.execPath,
      ])
      expect({ code, stderr, stdout }).toEqual({
        code: 1,
        stderr: `relay already running? kill it with: kill $(lsof -ti:${port})\n`,
        stdout: '',
      })
    }
    expect(leftovers()).toHaveLength(1)
    await first.stop()
  })

  test('for programs: one JSON value a line', async () => {
    const running = world.start(['lift', '--port', '0', '--roles', 'lead,api', '--json'])
    await running.says(/"ready".*\n/)
    const ready = JSON.parse(running.stdout)
    expect(ready).toMatchObject({
      type: 'ready',
      roles: ['lead', 'api'],
      prompts: { api: expect.stringContaining('lead') },
    })
    const client = await connect(Number(new URL(ready.url).port))
    await call(client, 'post_message', { from: 'api', to: 'lead', kind: 'question', body: 'which branch?' })
    await running.says(/which branch.*\n/)
    expect(JSON.parse(running.stdout.split('\n')[1] as string).message).toMatchObject({ from: 'api', kind: 'question' })
    await running.stop()
  })

  test('where there is no tmux and no kitty it says so, and prints the blocks', async () => {
    const empty = world.directory('nothing')
    for (const kind of ['tmux', 'kitty']) {
      const running = world.start(['lift', `--${kind}`, '--port', '0'], { env: { PATH: empty } })
      await running.says(/^ready\./m)
      expect(withoutWaiting(running.stderr)).toBe(`${kind} is not installed here: paste the prompts yourself.\n`)
      expect(running.stdout).toContain('── dev-b: paste into a fresh session')
      await running.stop()
    }
  })

  test('kept messages are there in the next lift, and not in the project', async () => {
    const cwd = world.directory('kept')
    const start = async () => {
      const running = world.start(['lift', '--port', '0', '--keep'], { cwd })
      await running.says(/^ready\./m)
      return running
    }
    const first = await start()
    await call(await connect(portOf(first)), 'post_message', {
      from: 'pm',
      to: 'dev-a',
      kind: 'directive',
      body: 'later',
    })
    const second = await world.launch(['lift', '--port', '0', '--keep'], { cwd })
    expect(second).toMatchObject({ code: 75, stderr: expect.stringContaining('Another lift keeps its messages in') })
    await first.stop()
    const third = await start()
    const messages = await call(await connect(portOf(third)), 'read_messages', { for: 'dev-a' })
    expect(messages).toMatchObject([{ from: 'pm', body: 'later' }])
    await third.stop()
    // A repository could carry such files: they are kept where nobody else writes.
    expect(existsSync(join(cwd, '.relay'))).toBe(false)
    expect(readdirSync(join(world.dataDir, 'lifts'))).toEqual([expect.stringMatching(/^kept-[0-9a-f]{12}$/)])
  })
})

test('two lifts do not see each other, nor the daemon of the user', async () => {
  await world.serve()
  await world.run(['send', 'pm', 'for the pm of the daemon', '--as', 'kim'])
  const socket = (await world.json<{ socketPath: string }>(['status'])).socketPath
  // Even where the environment points at the user's own workspace.
  const env = { RELAY_SOCKET: socket, RELAY_PROJECT: 'app', RELAY_AGENT_NAME: 'kim' }
  const lifts = [await lift(), world.start(['lift', '--port', '0'], { env })] as const
  await lifts[1].says(/^ready\./m)
  const [one, two] = await Promise.all(lifts.map((running) => connect(portOf(running))))
  await call(one as Client, 'post_message', { from: 'dev-a', to: 'pm', kind: 'status', body: 'of the first' })
  expect(await call(two as Client, 'list_pending', { for: 'pm' })).toEqual({ count: 0, kinds: [] })
  const messages = await call(one as Client, 'read_messages', { for: 'pm' })
  expect(messages.map(({ body }: Json) => body)).toEqual(['of the first'])
  const { agents } = await world.json<{ agents: { name: string }[] }>(['who', '--all'])
  expect(agents.map(({ name }) => name)).not.toContain('dev-a')
  expect((await world.run(['search', 'first'])).stdout).not.toContain('of the first')
  for (const running of lifts) await running.stop()
  expect((await world.run(['daemon', 'status'])).code).toBe(0)
})

describe('prompts and roles', () => {
  test('the prompt of a role: its name, the tools, when to read and post, and what to do without the relay', async () => {
    const { code, stdout } = await world.run(['lift', 'prompt', 'dev-a'])
    expect(code).toBe(0)
    for (const part of [
      'You are dev-a in a multi-agent lift',
      'http://localhost:7331',
      'post_message(from="dev-a", to, kind, body) sends to one of: pm, dev-b.',
      'read_messages(for="dev-a")',
      'list_pending(for="dev-a")',
      'before each task',
      'the relay is down',
    ])
      expect(stdout).toContain(part)
    const other = await world.run(['lift', 'prompt', 'api', '--roles', 'lead,api', '--port', '7400'])
    expect(await world.json(['lift', 'prompt', 'dev-a'])).toEqual({ role: 'dev-a', prompt: stdout.trimEnd() })
    expect(other.stdout).toMatch(/You are api[\s\S]*you build what lead gives you[\s\S]*http:\/\/localhost:7400/)
  })

  test.each([
    [['prompt', 'qa'], /^There is no role "qa"; there are pm, dev-a, dev-b\./],
    [['--roles', 'pm'], /2 to 12 roles/],
    [['--roles', 'pm,pm'], /each role is named once/],
    [['--roles', 'pm,a; rm -rf ~'], /"a; rm -rf ~" is not a valid role name/],
    [['--roles', 'pm,$(x)'], /not a valid role name/],
    [['--roles', 'pm,-t'], /not a valid role name/],
    [['--tmux', '--kitty'], /only one of/],
    [['--tmux', '--cli', 'aider'], /aider gets no MCP servers here: a role /],
    [['--tmux', '--cli', 'copilot'], /copilot is not typed into here: a role /],
  ])('%j is refused', async (args, why) => {
    const { code, stderr } = await world.run(['lift', ...args])
    expect(stderr).toMatch(why)
    expect(code).toBe(2)
  })

  test('a CLI that is not there is named with what installs it, before anything is opened', async () => {
    const empty = world.directory('bin-of-tmux-alone')
    writeFileSync(join(empty, 'tmux'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    const { code, stderr } = await world.launch(['lift', '--tmux'], { env: { PATH: empty } })
    expect(stderr).toBe('claude is not on PATH. Install it: npm install -g @anthropic-ai/claude-code\n')
    expect(code).toBe(1)
    const other = await world.launch(['lift', '--tmux', '--cli', './agent'], { env: { PATH: empty } })
    expect(other.stderr).toBe('./agent is not a program that can be run.\n')
  })
})

test('the skill that users copy holds the same paragraph', () => {
  const skill = readFileSync(join(root, 'skills', 'multi-agent-kickoff', 'SKILL.md'), 'utf8')
  expect(skill).toMatch(/^---\nname: multi-agent-kickoff\ndescription: /)
  expect(skill).toContain('tools/relay/start.sh')
  const quoted = relayParagraph('{role}', ['{role}', '{others}'], '{url}').replace(/^/gm, '   > ')
  expect(skill).toContain(quoted)
})

describe('start.sh', () => {
  const script = join(root, 'tools', 'relay', 'start.sh')
  const start = (args: string[]) => {
    const child = spawn(script, args, { cwd: world.cwd, env: { ...process.env, TMPDIR: world.root } })
    const started = { stdout: '', ended: new Promise((resolve) => child.once('close', resolve)), child }
    child.stdout.on('data', (chunk) => {
      started.stdout += chunk
    })
    return started
  }

  test('is the same command, from any directory', async () => {
    const started = start(['prompt', 'pm'])
    expect(await started.ended).toBe(0)
    expect(started.stdout).toBe((await world.run(['lift', 'prompt', 'pm'])).stdout)
  })

  test('prints lines that can be typed in that directory, and ends with Ctrl-C', async () => {
    const started = start(['--port', '0'])
    await until(() => /^ready\./m.test(started.stdout))
    const line = /^ {2}(.+) --configure --port \d+$/m.exec(started.stdout)?.[1]
    expect(shellWords(line ?? '')).toEqual([script])
    started.child.kill('SIGINT')
    expect(await started.ended).toBe(0)
  })
})

describe('the files of a project', () => {
  const sse = (port = 7331) => ({ type: 'sse', url: `http://localhost:${port}/sse` })

  test('the entry goes into .mcp.json and the files that are there, and out again to the byte', async () => {
    const cwd = world.directory('configured')
    mkdirSync(join(cwd, '.codex'))
    mkdirSync(join(cwd, '.gemini'))
    const codex = '# mine\nmodel = "x"\n'
    const gemini = '{ "theme": "dark" /* mine */ }\n'
    writeFileSync(join(cwd, '.codex', 'config.toml'), codex)
    writeFileSync(join(cwd, '.gemini', 'settings.json'), gemini)
    const read = (...path: string[]) => readFileSync(join(cwd, ...path), 'utf8')
    expect((await world.run(['lift', '--configure', '--port', '7400'], { cwd })).code).toBe(0)
    expect(JSON.parse(read('.mcp.json'))).toEqual({ mcpServers: { relay: sse(7400) } })
    const { code, stdout } = await world.run(['lift', '--configure'], { cwd })
    expect({ code, lines: stdout.match(/✓/g) }).toEqual({ code: 0, lines: ['✓', '✓', '✓'] })
    expect(JSON.parse(read('.mcp.json'))).toEqual({ mcpServers: { relay: sse() } })
    expect(read('.codex', 'config.toml')).toBe(`${codex}\n[mcp_servers.relay]\nurl = "http://localhost:7331/mcp"\n`)
    expect(read('.gemini', 'settings.json')).toContain('/* mine */')
    expect(read('.gemini', 'settings.json')).toContain('http://localhost:7331/sse')
    expect(existsSync(join(cwd, '.cursor'))).toBe(false)
    expect((await world.run(['lift', '--unconfigure'], { cwd })).code).toBe(0)
    expect(existsSync(join(cwd, '.mcp.json'))).toBe(false)
    expect(read('.codex', 'config.toml')).toBe(codex)
    expect(read('.gemini', 'settings.json')).toBe(gemini)
    expect((await world.run(['lift', '--unconfigure'], { cwd })).stderr).toContain('None of the files')
  })

  test('a server of somebody else that has the name stays', async () => {
    const cwd = world.directory('foreign')
    const text = '{"mcpServers":{"relay":{"command":"theirs"}}}'
    writeFileSync(join(cwd, '.mcp.json'), text)
    const { code, stdout } = await world.run(['lift', '--configure'], { cwd })
    expect(stdout).toContain('another server is called "relay" there. Nothing was changed.')
    expect(code).toBe(1)
    await world.run(['lift', '--unconfigure'], { cwd })
    expect(readFileSync(join(cwd, '.mcp.json'), 'utf8')).toBe(text)
  })
})
