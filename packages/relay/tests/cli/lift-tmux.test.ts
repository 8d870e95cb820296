// `lift --tmux` in a real tmux with a socket of its own: the panes, the agents in them, and that Ctrl-C ends every started program and no other.
// Two of the ways into tmux are played by `npm run test:crash` alone.

import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../../test/free-port.ts'
import { guardMs } from '../../../../test/guard.ts'
import { isAlive } from '../../../../test/is-alive.ts'
import { isFull } from '../../../../test/size.ts'
import { aWhile, until } from '../../../../test/until.ts'
import { launcher, pipeLauncher, World } from './cli-world.ts'

const agent = fileURLToPath(new URL('lift-agent.mjs', import.meta.url))
const hasTmux = spawnSync('tmux', ['-V']).status === 0

const world = new World()
const env = {
  ...process.env,
  TMUX_TMPDIR: world.directory('t'),
  TMUX: undefined,
  TMPDIR: world.root,
  HOME: join(world.root, 'home'),
}

function tmux(...args: string[]): string {
  return execFileSync('tmux', args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd()
}
const screen = (pane: string) => tmux('capture-pane', '-p', '-J', '-t', pane)
const sessions = () => tmux('list-sessions', '-F', '#{session_name}').split('\n')
const leftovers = () => readdirSync(world.root).filter((name) => name.startsWith('agent-relay-lift-'))

interface Pane {
  id: string
  pid: number
  role: string
}

function panes(target: string): Pane[] {
  const rows = tmux('list-panes', '-t', target, '-F', '#{pane_id} #{pane_pid} #{@relay_role}').split('\n')
  return rows.map((row) => {
    const [id = '', pid, role = ''] = row.split(' ')
    return { id, pid: Number(pid), role }
  })
}

/** Every process below these. */
function family(pids: number[]): number[] {
  const rows = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const all = rows.map((row) => row.trim().split(/\s+/).map(Number) as [number, number])
  const below = (pid: number): number[] => [
    pid,
    ...all.filter(([, parent]) => parent === pid).flatMap(([child]) => below(child)),
  ]
  return pids.flatMap(below)
}

async function endsWithCtrlC(relay: string, pids: number[]): Promise<void> {
  // The relay, and in each pane a process with the agent below it, which has started something itself.
  await until(() => family(pids).length >= 3 * pids.length - 2)
  const all = family(pids)
  tmux('send-keys', '-t', relay, 'C-c')
  await until(() => !all.some(isAlive))
  await until(() => leftovers().length === 0)
}

describe.skipIf(!hasTmux)('in tmux (skipped where it is not installed)', () => {
  beforeAll(() => {
    // Somebody's own work, in the same tmux.
    tmux('new-session', '-d', '-s', 'mine', '-x', '200', '-y', '50', 'sleep 1000')
    tmux('set-option', '-g', 'default-shell', '/bin/sh')
  })
  afterAll(async () => {
    spawnSync('tmux', ['kill-server'], { env })
    await world.close()
  })

  test('the relay first, a pane for each role, whose agents talk; Ctrl-C ends them and nobody else', {
    timeout: 5 * guardMs,
  }, async () => {
    const port = await freePort()
    const { code, stdout } = await world.launch(['lift', '--tmux', '--port', String(port), '--cli', agent], {
      env,
    })
    expect(code).toBe(0)
    const [runs, page, see] = stdout.split('\n')
    expect(runs).toBe(`The lift of pm, dev-a and dev-b runs at http://localhost:${port}.`)
    expect(page).toMatch(
      new RegExp(`^Its page: http://127.0.0.1:${port}/w/[^/]+/\\?code=\\S+ +once, within five minutes$`),
    )
    expect(see).toBe(`To see it: tmux attach -t =lift-${port}`)
    const open = panes(`=lift-${port}:`)
    expect(open.map(({ role }) => role)).toEqual(['relay', 'pm', 'dev-a', 'dev-b'])
    const [relay, pm, a, b] = open.map(({ id }) => id) as [string, string, string, string]
    await until(() => screen(pm).includes('pm is done'))
    for (const [pane, role] of [
      [pm, 'pm'],
      [a, 'dev-a'],
      [b, 'dev-b'],
    ] as const) {
      // With the lift's tools alone, and its whole kickoff as one paste.
      expect(screen(pane)).toContain(`${role} has post_message, read_messages, list_pending`)
      expect(screen(pane)).toContain(`${role} was told: You are ${role} in a multi-agent lift`)
      // Its own pane, and not the relay's: a program that draws or asks tmux must not do so in another's.
      expect(screen(pane)).toContain(`${role} is in pane ${pane}`)
    }
    expect(screen(a)).toContain('dev-a got from pm [directive]: build dev-a')
    expect(screen(pm)).toContain('pm got from dev-b [status]: build dev-b: done')
    await until(() => screen(relay).includes('dev-b → pm [status] "build dev-b: done"'))
    expect(screen(relay)).toMatch(/^agent-relay .* · lift of pm, dev-a and dev-b\n/)
    await endsWithCtrlC(
      relay,
      open.map(({ pid }) => pid),
    )
    await until(() => sessions().length === 1)
    expect(sessions()).toEqual(['mine'])
    expect(panes('=mine:')).toHaveLength(1)
  })

  test.runIf(isFull)(
    'from inside tmux it is a window of that session, and the user is taken there',
    { timeout: 5 * guardMs },
    async () => {
      const command = [process.execPath, launcher, 'lift', '--tmux', '--port', '0', '--cli', agent]
      const started = tmux('split-window', '-d', '-P', '-F', '#{pane_id}', '-t', '=mine:', '--', ...command)
      const windows = () =>
        tmux('list-windows', '-t', '=mine', '-F', '#{window_name} #{window_active} #{window_panes}').split('\n')
      await until(() => windows().includes('lift 1 4'))
      await until(() => !tmux('list-panes', '-a', '-F', '#{pane_id}').split('\n').includes(started))
      const open = panes('=mine:lift')
      const { id: relay } = open[0] as Pane
      await until(() => screen(relay).includes('build dev-b: done'))
      // A pane that the user opened beside them is not ours to close.
      const own = tmux('split-window', '-d', '-P', '-F', '#{pane_id}', '-t', relay, '--', 'sleep', '1000')
      await endsWithCtrlC(
        relay,
        open.map(({ pid }) => pid),
      )
      expect(panes('=mine:lift').map(({ id }) => id)).toEqual([own])
      tmux('kill-pane', '-t', own)
      expect(windows()).toHaveLength(1)
    },
  )

  test.runIf(isFull)(
    'with a terminal it is attached, and the lift outlives the view',
    { timeout: 5 * guardMs },
    async () => {
      const port = await freePort()
      // A terminal: a pane of another tmux.
      const outer = (...args: string[]) => tmux('-L', 'outer', ...args)
      const typed = [process.execPath, launcher, 'lift', '--tmux', '--port', String(port), '--cli', agent]
      outer('new-session', '-d', '-x', '120', '-y', '40', '-P', '--', 'env', '-u', 'TMUX', '-u', 'TMUX_PANE', ...typed)
      outer('set-option', '-w', 'remain-on-exit', 'on')
      try {
        await until(() => tmux('list-clients', '-F', '#{session_name}') === `lift-${port}`)
        tmux('detach-client', '-s', `=lift-${port}`)
        await until(() => outer('capture-pane', '-p').includes(`To see it: tmux attach -t =lift-${port}`))
        const open = panes(`=lift-${port}:`)
        await endsWithCtrlC(
          (open[0] as Pane).id,
          open.map(({ pid }) => pid),
        )
      } finally {
        spawnSync('tmux', ['-L', 'outer', 'kill-server'], { env })
      }
    },
  )

  test('an agent that does not want to go is ended all the same, and one that failed is left to look at', {
    timeout: 5 * guardMs,
  }, async () => {
    const stubborn = join(world.root, 'stubborn.mjs')
    const text = `#!${process.execPath}
import { spawn } from 'node:child_process'
if (process.env.RELAY_AGENT_NAME === 'dev-b') process.exit(3)
spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
for (const signal of ['SIGHUP', 'SIGTERM', 'SIGINT']) process.on(signal, () => {})
setInterval(() => {}, 1000)
console.log('I stay', process.env.RELAY_WORKSPACE_KEY, process.env.RELAY_BASE_URL, process.env.MINE)
`
    writeFileSync(stubborn, text, { mode: 0o755 })
    const port = await freePort()
    const own = { ...env, RELAY_WORKSPACE_KEY: 'rk_secret', MINE: "it's $(mine)" }
    const args = ['--port', String(port), '--roles', 'dev-a,dev-b', '--cli', './../stubborn.mjs']
    const { stdout } = await world.launch(['lift', '--tmux', ...args], { env: own })
    expect(stdout).toContain('runs at')
    const open = panes(`=lift-${port}:`)
    const [relay, a, b] = open.map(({ id }) => id) as [string, string, string]
    await until(() => screen(b).includes('stubborn.mjs has ended (3). Enter closes this pane.'))
    // The user's environment as it is where the command was typed, without what leads to another relay.
    await until(() => screen(a).includes(`I stay undefined http://localhost:${port} it's $(mine)`))
    tmux('send-keys', '-t', b, 'Enter')
    await until(() => panes(`=lift-${port}:`).length === 2)
    await endsWithCtrlC(
      relay,
      open.slice(0, 2).map(({ pid }) => pid),
    )
    await until(() => sessions().length === 1)
    expect(sessions()).toEqual(['mine'])
  })

  test('an idle session is told once that messages wait; a busy one is not, nor one in which the user types', {
    timeout: 5 * guardMs,
  }, async () => {
    // In the place of Claude Code, with its signs: a title that says idle or busy.
    const bin = world.directory('claude-bin')
    const text = `#!${process.execPath}
import { spawn } from 'node:child_process'
const { RELAY_AGENT_NAME: role } = process.env
spawn(process.execPath, [${JSON.stringify(pipeLauncher)}, 'serve'], { stdio: ['pipe', 'ignore', 'inherit'] }).stdin.write(
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\\n' +
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\\n',
)
process.stdin.setRawMode(true)
process.stdout.write('\\u001b]2;' + (role === 'dev-b' ? '◐ busy' : '✳ idle') + '\\u0007\\u001b[?2004h> ')
process.stdin.on('data', (typed) => process.stdout.write(String(typed).replace(/[^ -~]/g, '').slice(-100) + '\\r\\n'))
`
    writeFileSync(join(bin, 'claude'), text, { mode: 0o755 })
    writeFileSync(join(bin, 'package.json'), '{"type":"module"}')
    const port = await freePort()
    const own = { ...env, PATH: `${bin}:${process.env.PATH}` }
    expect((await world.launch(['lift', '--tmux', '--port', String(port)], { env: own })).code).toBe(0)
    const open = panes(`=lift-${port}:`)
    const [relay, pm, a, b] = open.map(({ id }) => id) as [string, string, string, string]
    await until(() => (screen(relay).match(/has its kickoff/g) ?? []).length === 3)
    const client = new Client({ name: 'poster', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://localhost:${port}/mcp`)))
    const post = async (to: string, from = 'pm') => {
      const input = { from, to, kind: 'status', body: 'your turn' }
      expect((await client.callTool({ name: 'post_message', arguments: input })).isError).not.toBe(true)
    }
    const nudges = (pane: string) => screen(pane).match(/wait for you: call read_messages\(for="[\w-]+"\)\./g) ?? []
    // The kickoff ends with another sentence, so what is counted was typed later.
    expect([pm, a, b].flatMap(nudges)).toEqual([])
    for (const role of ['dev-a', 'dev-b']) await post(role)
    await until(() => nudges(a).length === 1)
    // Somebody sits down at dev-a's pane and begins to type.
    const outer = (...args: string[]) => tmux('-L', 'outer', ...args)
    outer('new-session', '-d', '--', 'env', '-u', 'TMUX', '-u', 'TMUX_PANE', 'tmux', 'attach', '-t', `=lift-${port}`)
    await until(() => tmux('list-clients', '-F', '#{session_name}') === `lift-${port}`)
    tmux('select-pane', '-t', a)
    outer('send-keys', 'h')
    await post('dev-a')
    await post('pm', 'dev-a')
    await client.close()
    // Who looks idle is told with the same number of looks, once a second; each role has looks of its own.
    await until(() => nudges(pm).length === 1)
    await aWhile(1_500)
    expect([nudges(a).length, nudges(b).length]).toEqual([1, 0])
    spawnSync('tmux', ['-L', 'outer', 'kill-server'], { env })
    await until(() => nudges(a).length === 2)
    await endsWithCtrlC(
      relay,
      open.map(({ pid }) => pid),
    )
  })
})
