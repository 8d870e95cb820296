// `agent-relay doctor`: each fault is planted, found with its fix, and fixed by `--fix` where the documentation says so.

import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { guardMs } from '../../../../test/guard.ts'
import { until } from '../../../../test/until.ts'
import { dataDirectoryCheck } from '../../src/cli/commands/doctor/data-directory.ts'
import { nodeCheck } from '../../src/cli/commands/doctor/machine.ts'
import { isDaemonRunning } from '../../src/daemon/inspect.ts'
import { Database } from '../../src/store/database.ts'
import { plantDamage } from '../daemon/damage-world.ts'
import { World } from './cli-world.ts'

interface Told {
  check: string
  state: 'ok' | 'note' | 'fault'
  text: string
  fix?: string
  isFixed: boolean
  isFixable: boolean
}

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const isRoot = process.getuid?.() === 0

async function doctor(...args: string[]): Promise<{ code: number | null; findings: Told[]; faults: Told[] }> {
  const { code, stdout } = await world.run(['doctor', '--json', ...args], { env: { PATH: '/nowhere' } })
  const { findings } = JSON.parse(stdout) as { findings: Told[] }
  return { code, findings, faults: findings.filter(({ state, isFixed }) => state === 'fault' && !isFixed) }
}

const home = (...parts: string[]) => join(world.root, 'home', ...parts)
const launcher = () => join(world.dataDir, 'bin/agent-relay-mcp')

/** Changes a database whose daemon has stopped: its process may still be about to copy the log into the file. */
function changeDatabase(path: string, sql: string): void {
  const database = new Database(path)
  database.exec(`PRAGMA busy_timeout = ${guardMs}; ${sql}`)
  database.close()
}

describe('a whole installation', () => {
  it('has no fault, and every line says what was looked at', async () => {
    mkdirSync(home('.cursor'))
    await world.serve()
    await world.run(['mcp', 'install', '--editor', 'cursor'])
    const { code, findings, faults } = await doctor()
    expect([code, faults]).toEqual([0, []])
    expect(findings.find(({ check }) => check === 'editor cursor')?.text).toMatch(/the server answers$/)
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'node',
        'data',
        'keys',
        'daemon',
        'sockets',
        'databases',
        'port',
        'launcher',
        'editor cursor',
        'clis',
      ]),
    )
    // The question to the server has made no agent.
    expect((await world.launch(['agent-names'])).stdout).toBe('')
    const { stdout } = await world.run(['doctor'])
    expect(stdout).toMatch(/^✓ node +Node \d/m)
  })

  it('takes a machine without a daemon, an editor or a CLI for whole, with notes', async () => {
    const { code, findings } = await doctor()
    expect(code).toBe(0)
    expect(
      findings.filter(({ state }) => state === 'note').map(({ check, fix }) => [check, fix !== undefined]),
    ).toEqual([
      ['data', true],
      ['daemon', true],
      ['editors', true],
      ['clis', true],
    ])
  })
})

describe('a planted fault', () => {
  it('an old Node', async () => {
    const [finding] = await nodeCheck({ env: {}, cwd: '/', nodeVersion: '18.20.4' })
    expect(finding).toMatchObject({
      state: 'fault',
      text: expect.stringContaining('20.19'),
      fix: expect.stringContaining('nodejs.org'),
    })
    expect((await nodeCheck({ env: {}, cwd: '/', nodeVersion: '20.18.9' }))[0]?.state).toBe('fault')
    expect((await nodeCheck({ env: {}, cwd: '/', nodeVersion: '24.0.0' }))[0]?.state).toBe('ok')
  })

  it('a data directory that is a file: said, and left as it is', async () => {
    writeFileSync(world.dataDir, 'mine')
    const { code, faults } = await doctor('--fix')
    expect([code, faults.map(({ check, fix }) => [check, fix])]).toEqual([
      1,
      [['data', 'move it, or set RELAY_DATA_DIR']],
    ])
    expect(readFileSync(world.dataDir, 'utf8')).toBe('mine')
  })

  it('a data directory that cannot be made: said, and no start is advised for it', async () => {
    const file = join(world.root, 'file')
    writeFileSync(file, 'mine')
    const findings = await dataDirectoryCheck({
      env: { RELAY_DATA_DIR: join(file, 'data') },
      cwd: '/',
      nodeVersion: '24.0.0',
    })
    expect(findings).toEqual([
      {
        check: 'data',
        state: 'fault',
        text: `${join(file, 'data')} cannot be made: ${file} is no directory`,
        fix: 'fix that with chown or chmod, or set RELAY_DATA_DIR',
      },
    ])
  })

  it('a data directory and keys that others may read: fixed', async () => {
    await world.serve()
    const keys = join(world.dataDir, 'credentials.json')
    chmodSync(world.dataDir, 0o755)
    chmodSync(keys, 0o644)
    const found = await doctor()
    expect(found.code).toBe(1)
    expect(found.faults.map(({ check, isFixable, fix }) => [check, isFixable, fix])).toEqual([
      ['data', true, expect.stringContaining('chmod 700')],
      ['keys', true, expect.stringContaining('chmod 600')],
    ])
    expect(await doctor('--fix')).toMatchObject({ code: 0, faults: [] })
    expect([statSync(world.dataDir).mode & 0o777, statSync(keys).mode & 0o777]).toEqual([0o700, 0o600])
  })

  it.runIf(isRoot)("another user's data directory", async () => {
    mkdirSync(world.dataDir, { mode: 0o700 })
    chownSync(world.dataDir, 65534, 65534)
    expect((await doctor('--fix')).faults).toMatchObject([
      { check: 'data', text: expect.stringContaining('belongs to another user') },
    ])
  })

  it('a read-only data directory: fixed', async () => {
    mkdirSync(world.dataDir)
    chmodSync(world.dataDir, 0o500)
    expect((await doctor()).faults).toMatchObject([
      { check: 'data', text: expect.stringContaining('cannot be written to') },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
  })

  it('a file of keys that is not JSON: left as it is', async () => {
    mkdirSync(world.dataDir, { mode: 0o700 })
    const keys = join(world.dataDir, 'credentials.json')
    writeFileSync(keys, '{', { mode: 0o600 })
    expect((await doctor('--fix')).faults).toMatchObject([{ check: 'keys', fix: expect.stringContaining('--rotate') }])
    expect(readFileSync(keys, 'utf8')).toBe('{')
  })

  it('a daemon of another version', async () => {
    mkdirSync(world.dataDir, { mode: 0o700 })
    // Only its greeting differs: what an older or newer installation would say.
    const server = createServer((socket) => {
      socket.setEncoding('utf8').on('data', (line: string) => {
        const { id } = JSON.parse(line.split('\n')[0] as string)
        const payload = { version: '9.9.9', workspace: '', workspaceId: '', protocol: 1 }
        socket.write(`${JSON.stringify({ v: 1, type: 'WELCOME', id, ts: Date.now(), payload })}\n`)
      })
      socket.on('error', () => {})
    })
    await new Promise<void>((resolve) => server.listen(join(world.dataDir, 'control.sock'), resolve))
    try {
      const findings = await checked()
      expect(findings).toMatchObject([
        { state: 'fault', text: expect.stringContaining('the daemon runs 9.9.9'), fix: 'agent-relay daemon upgrade' },
      ])
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('sockets that nobody answers at: removed', async () => {
    const paths = [join(world.dataDir, 'control.sock'), join(world.dataDir, 'projects', 'old', 'daemon.sock')]
    mkdirSync(join(world.dataDir, 'projects', 'old'), { recursive: true, mode: 0o700 })
    chmodSync(world.dataDir, 0o700)
    for (const path of paths) await leaveSocket(path)
    const { faults } = await doctor()
    expect(faults.map(({ check, isFixable }) => [check, isFixable])).toEqual([
      ['sockets', true],
      ['sockets', true],
    ])
    expect((await doctor('--fix')).faults).toEqual([])
    expect(paths.some((path) => existsSync(path))).toBe(false)
  })

  it('a damaged database', async () => {
    const path = join(world.dataDir, 'projects', 'app', 'relay.db')
    // A daemon may leave all of it in SQLite's log; the next one takes it in.
    for (let round = 0; round < 3 && (round === 0 || readFileSync(path).length < 12_288); round++) {
      await world.run(['daemon', 'start'])
      await world.run(['daemon', 'stop'])
    }
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 4096, 12_288)
    writeFileSync(path, bytes)
    const { faults } = await doctor('--fix')
    expect(faults).toMatchObject([
      {
        check: 'databases',
        text: expect.stringContaining('workspace app is damaged'),
        fix: expect.stringContaining('relay.db'),
      },
    ])
    expect(readFileSync(path).equals(bytes)).toBe(true)
    const { code, stderr } = await world.run(['daemon', 'start'])
    expect([code, stderr]).toEqual([78, expect.stringContaining(`${path} is damaged (`)])
    // It was started for this workspace alone, and does not stay behind without it.
    expect([(await world.run(['daemon', 'status'])).code, isDaemonRunning(world.dataDir)]).toEqual([69, false])
    // One that serves another workspace goes on.
    await world.run(['daemon', 'start'], { cwd: world.directory('other') })
    expect((await world.run(['daemon', 'start'])).code).toBe(78)
    expect((await world.run(['daemon', 'status'])).code).toBe(0)
  })

  it('a database that a newer version has written', async () => {
    await world.run(['daemon', 'start'])
    await world.run(['daemon', 'stop'])
    changeDatabase(join(world.dataDir, 'projects', 'app', 'relay.db'), 'PRAGMA user_version = 9999')
    const { faults } = await doctor()
    const text = 'the database of workspace app was written by a newer Agent Relay'
    expect(faults).toMatchObject([
      { check: 'databases', state: 'fault', text, fix: 'install that version, then: agent-relay daemon upgrade' },
    ])
    expect((await world.run(['daemon', 'start'])).stderr).toContain('install that version and run:')
  })

  it('a database that is damaged in its middle: the same fix everywhere, and followed to the letter it works', async () => {
    await world.run(['daemon', 'start'])
    for (const body of ['first', 'middle', 'last'])
      expect(await world.run(['send', '#general', `${body}-body ${'x'.repeat(3_000)}`, '--as', 'Al'])).toMatchObject({
        code: 0,
      })
    expect(await world.run(['daemon', 'stop'])).toMatchObject({ code: 0 })
    const path = join(world.dataDir, 'projects', 'app', 'relay.db')
    changeDatabase(path, 'PRAGMA wal_checkpoint(TRUNCATE)')
    plantDamage(path, 'middle-body')
    const down = (await doctor()).faults
    // It opens: what it reads at the start is whole.
    await world.run(['daemon', 'start'])
    const { code, stderr } = await world.run(['events'])
    expect([code, stderr]).toEqual([78, expect.stringContaining(`${path} is damaged (`)])
    const up = (await doctor()).faults
    expect(up).toEqual(down)
    const fix = /To start over, keeping what is there: (.*)/.exec(stderr)?.[1] as string
    expect(up).toMatchObject([{ check: 'databases', fix: expect.stringContaining(fix) }])

    const followed = await world.shell(fix)
    expect(followed).toMatchObject({ code: 0 })
    expect((await doctor()).faults).toEqual([])
    expect((await world.run(['send', '#general', 'afresh', '--as', 'Al'])).code).toBe(0)
    expect(readFileSync(join(world.dataDir, 'damaged', 'app', 'relay.db')).includes('last-body')).toBe(true)
  })

  it.each(['127.0.0.1', '::1'])('a port that another program has at %s', async (host) => {
    const server = createServer()
    const port = await new Promise<number | undefined>((resolve) =>
      server
        .once('error', () => resolve(undefined))
        .listen(0, host, () => resolve((server.address() as { port: number }).port)),
    )
    // Without IPv6 nobody can have it there.
    if (port === undefined && host === '::1') return
    try {
      const { code, stdout } = await world.run(['doctor', '--json'], {
        env: { PATH: '/nowhere', RELAY_PORT: String(port) },
      })
      expect(code).toBe(1)
      const fault = (JSON.parse(stdout).findings as Told[]).find(({ check }) => check === 'port')
      expect(fault).toMatchObject({
        state: 'fault',
        text: expect.stringContaining(`pid ${process.pid}`),
        fix: expect.stringContaining(`--port ${Number(port) + 1}`),
      })
    } finally {
      server.close()
    }
  })

  it('the usual port, where another program has it and the daemon took another one: clients send their keys there', async () => {
    const server = createServer()
    const hold = () =>
      new Promise<void>((resolve) => server.once('error', () => resolve()).listen(8101, '127.0.0.1', resolve))
    const sends = 'Clients that are set up for that port send it their keys'
    /** If another program of this machine has it, that is the same to the doctor, until it lets go. */
    const warned = async (): Promise<Told> => {
      let told: Told | undefined
      await until(async () => {
        if (!server.listening) await hold()
        const { stdout } = await world.run(['doctor', '--json'], { env: { PATH: '/nowhere', RELAY_PORT: '' } })
        told = (JSON.parse(stdout).findings as Told[]).find(({ check }) => check === 'port')
        return told?.text.endsWith(sends) === true
      })
      return told as Told
    }
    try {
      expect(await warned()).toMatchObject({ state: 'note', text: expect.stringMatching(/^port 8101 is taken by/) })
      await world.serve()
      const { state, text, fix } = await warned()
      const url = /^the daemon listens at (http:\S+), and port 8101 is taken by another program/.exec(text)?.[1]
      expect([state, fix]).toEqual([
        'note',
        `write ${url} into their settings; if a key was sent there: agent-relay workspace key --rotate`,
      ])
      expect((await doctor()).findings.find(({ check }) => check === 'port')?.state).toBe('ok')
    } finally {
      server.close()
    }
  })

  it('hooks: how messages reach each CLI, and the command where they are missing', async () => {
    await world.run(['mcp', 'install', '--editor', 'claude,gemini', '--no-hooks'])
    const hooks = async () => (await doctor()).findings.filter(({ check }) => check.startsWith('hooks '))
    expect(await hooks()).toMatchObject([
      { check: 'hooks claude', state: 'note', fix: 'agent-relay mcp install --editor claude' },
      { check: 'hooks gemini', state: 'note', text: 'no hooks: messages wait until the agent calls a tool' },
    ])
    await world.run(['mcp', 'install', '--editor', 'claude,gemini', '--yes'])
    expect(await hooks()).toMatchObject([
      { state: 'ok', text: '~/.claude/settings.json: messages wake it' },
      { state: 'ok', text: '~/.gemini/settings.json: messages at its next turn; nothing can wake it' },
    ])
    const settings = readFileSync(home('.claude/settings.json'), 'utf8')
    writeFileSync(home('.claude/settings.json'), settings.replace(' hook wait --cli claude Stop', ' hook nap'))
    expect((await hooks())[0]).toMatchObject({ state: 'note', text: expect.stringContaining('writes it for Stop') })
  })

  it('hooks of the others: none, a plugin that is gone, and those that Codex does not trust yet', async () => {
    await world.run(['mcp', 'install', '--editor', 'codex,opencode,qwen', '--yes'])
    const hooks = async () => (await doctor()).findings.filter(({ check }) => check.startsWith('hooks '))
    const none = { check: 'hooks qwen', state: 'note', text: expect.stringMatching(/^it has none that we know/) }
    const text = '~/.config/opencode/opencode.json: messages wake it, once it has a session'
    expect(await hooks()).toMatchObject([{ check: 'hooks opencode', state: 'ok', text }, none])
    rmSync(join(world.dataDir, 'bin/agent-relay-opencode.js'))
    await world.run(['mcp', 'install', '--editor', 'codex', '--hooks'])
    expect(await hooks()).toMatchObject([
      {
        state: 'note',
        text: expect.stringContaining('before you have trusted it'),
        fix: expect.stringMatching(/^start codex/),
      },
      { state: 'note', text: expect.stringContaining('a plugin that is not there') },
      none,
    ])
    // As Codex 0.166.0 notes it.
    const state = ['session_start', 'user_prompt_submit', 'stop', 'pre_tool_use'].map(
      (event) => `[hooks.state."${home('.codex/hooks.json')}:${event}:0:0"]\ntrusted_hash = "sha256:0"\n`,
    )
    writeFileSync(home('.codex/config.toml'), [readFileSync(home('.codex/config.toml'), 'utf8'), ...state].join('\n'))
    expect((await hooks())[0]).toMatchObject({ state: 'ok', text: '~/.codex/hooks.json: messages at its next turn' })
  })

  it('an entry whose launcher is not there: fixed', async () => {
    mkdirSync(home('.cursor'))
    await world.run(['mcp', 'install', '--editor', 'cursor'])
    rmSync(launcher())
    expect((await doctor()).faults).toMatchObject([
      { check: 'editor cursor', text: expect.stringContaining('bin/agent-relay-mcp, which is not there') },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
    expect(existsSync(launcher())).toBe(true)
  })

  it('an entry that starts another program: never started, and left to the person', async () => {
    mkdirSync(home('.cursor'))
    await world.serve()
    const trace = join(world.root, 'started')
    const entry = { command: process.execPath, args: ['-e', `require('fs').writeFileSync('${trace}', '')`] }
    writeFileSync(home('.cursor/mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': entry } }))
    const { faults } = await doctor('--fix')
    expect(faults).toMatchObject([
      { check: 'editor cursor', text: expect.stringContaining(`starts another program: ${process.execPath} -e`) },
    ])
    expect(existsSync(trace)).toBe(false)
    expect((await world.shell(faults[0]?.fix as string)).code).toBe(0)
    expect((await doctor()).faults).toEqual([])
  })

  it('an entry of our name that leads to another machine', async () => {
    mkdirSync(home('.cursor'))
    const entry = { url: 'https://relay.example/mcp' }
    writeFileSync(home('.cursor/mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': entry } }))
    expect((await doctor()).faults).toMatchObject([
      { check: 'editor cursor', text: expect.stringContaining('leads to another machine: https://relay.example/mcp') },
    ])
  })

  it('a file of the project that cannot be read', async () => {
    mkdirSync(join(world.cwd, '.relay'))
    writeFileSync(join(world.cwd, '.relay/config.json'), '{ "project": ')
    expect((await doctor()).faults).toMatchObject([
      { check: 'project', text: expect.stringContaining('.relay/config.json') },
    ])
    expect((await world.run(['daemon', 'start'])).code).toBe(78)
    rmSync(join(world.cwd, '.relay/config.json'))
    expect((await doctor()).faults).toEqual([])
  })

  it('a project whose workspace is not there, or not open: the editors are not blamed for it', async () => {
    mkdirSync(home('.cursor'))
    await world.run(['daemon', 'start'])
    await world.run(['mcp', 'install', '--editor', 'cursor'])
    const inProject = async (): Promise<Told[]> => (await doctor()).faults
    const text = expect.stringMatching(/config\.json names workspace app, which is not open$/)
    await world.run(['workspace', 'close', 'app'])
    expect(await inProject()).toMatchObject([{ check: 'project', text, fix: 'agent-relay workspace open app' }])
    await world.run(['workspace', 'remove', 'app', '--yes'])
    const gone = expect.stringMatching(/names workspace app, which does not exist$/)
    expect(await inProject()).toMatchObject([{ check: 'project', text: gone, fix: 'agent-relay daemon start' }])
    await world.run(['daemon', 'start'])
    expect(await inProject()).toEqual([])
  })

  it('hooks that cannot reach: their launcher is gone, or they do not find the daemon', async () => {
    await world.serve()
    await world.run(['mcp', 'install', '--editor', 'claude', '--yes'])
    const ofHooks = async () => (await doctor()).findings.find(({ check }) => check === 'hooks claude')
    expect(await ofHooks()).toMatchObject({ state: 'ok' })
    rmSync(join(world.dataDir, 'hooks/daemon'))
    expect(await ofHooks()).toMatchObject({
      state: 'fault',
      text: expect.stringContaining('the hooks do not find the daemon'),
      fix: 'agent-relay daemon restart',
    })
    rmSync(launcher())
    expect(await ofHooks()).toMatchObject({
      state: 'fault',
      text: expect.stringMatching(/^the hooks start .*agent-relay-mcp, which is not there$/),
      fix: 'agent-relay mcp install',
    })
  })

  it('a launcher whose Node is too old: fixed', async () => {
    await world.serve()
    const old = join(world.root, 'node')
    writeFileSync(old, '#!/bin/sh\necho v18.20.4\n', { mode: 0o755 })
    const text = readFileSync(launcher(), 'utf8')
    writeFileSync(launcher(), text.replace(/^node=.*$/m, `node='${old}'`))
    expect((await doctor()).faults).toMatchObject([
      { check: 'launcher', text: expect.stringContaining(`starts ${old}, which is too old: v18.20.4`) },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
  })

  it('a launcher that does not lead here: fixed', async () => {
    mkdirSync(home('.cursor'))
    await world.serve()
    await world.run(['mcp', 'install', '--editor', 'cursor'])
    writeFileSync(launcher(), '#!/bin/sh\necho no such thing >&2\nexit 3\n')
    expect((await doctor()).faults).toMatchObject([
      { check: 'launcher', text: expect.stringContaining('starts another installation') },
      { check: 'editor cursor', text: expect.stringContaining('does not answer tools/list: no such thing') },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
    expect((await doctor()).faults).toEqual([])
  })

  it("entries in this project's files: tried where they are ours, never started where they are not", async () => {
    await world.serve()
    await world.run(['mcp', 'install', '--project', '--editor', 'cursor'])
    mkdirSync(join(world.cwd, '.gemini'))
    const gone = { command: process.execPath, args: ['/gone/agent-relay-mcp.cjs', 'serve'] }
    writeFileSync(join(world.cwd, '.mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': gone } }))
    const trace = join(world.root, 'started')
    const foreign = { command: process.execPath, args: ['-e', `require('fs').writeFileSync('${trace}', '')`] }
    writeFileSync(join(world.cwd, '.gemini/settings.json'), JSON.stringify({ mcpServers: { 'agent-relay': foreign } }))
    const remote = { type: 'http', url: 'http://127.0.0.1:8101/mcp' }
    mkdirSync(join(world.cwd, '.vscode'))
    writeFileSync(join(world.cwd, '.vscode/mcp.json'), JSON.stringify({ servers: { 'agent-relay': remote } }))

    const { findings, faults } = await doctor('--fix')
    expect(faults).toMatchObject([
      {
        check: 'editor claude',
        text: expect.stringMatching(/app\/\.mcp\.json starts another program: .*\/gone\/agent-relay-mcp\.cjs serve$/),
        fix: 'agent-relay mcp install --project --editor claude --yes',
      },
      {
        check: 'editor gemini',
        text: expect.stringContaining('starts another program'),
        fix: 'agent-relay mcp install --project --editor gemini --yes',
      },
    ])
    const texts = Object.fromEntries(findings.map(({ check, text }) => [check, text]))
    expect(texts).toMatchObject({
      'editor cursor': expect.stringMatching(/app\/\.cursor\/mcp\.json, the server answers$/),
      'editor vscode': expect.stringContaining('not tried: by its address http://127.0.0.1:8101/mcp'),
    })
    expect(existsSync(trace)).toBe(false)
    for (const { fix } of faults) expect((await world.shell(fix as string)).code).toBe(0)
    expect((await doctor()).faults).toEqual([])
  })

  it("a project's entry that starts our launcher for something else is not started", async () => {
    await world.serve()
    await world.run(['mcp', 'install', '--editor', 'cursor'])
    const { command } = JSON.parse(readFileSync(home('.cursor/mcp.json'), 'utf8')).mcpServers['agent-relay']
    const hostile = { command, args: ['uninstall', '--editor', 'cursor', '--yes'] }
    writeFileSync(join(world.cwd, '.mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': hostile } }))
    expect((await doctor()).faults).toMatchObject([
      { check: 'editor claude', text: expect.stringContaining('starts the launcher, and not as a server') },
    ])
    expect(readFileSync(home('.cursor/mcp.json'), 'utf8')).toContain('agent-relay')
  })

  it("an editor's file that cannot be read: left as it is", async () => {
    mkdirSync(home('.codex'))
    writeFileSync(home('.codex/config.toml'), 'a = [\n')
    expect((await doctor('--fix')).faults).toMatchObject([
      {
        check: 'editor codex',
        text: expect.stringContaining('not valid TOML'),
        fix: expect.stringContaining('correct the file'),
      },
    ])
    expect(readFileSync(home('.codex/config.toml'), 'utf8')).toBe('a = [\n')
  })

  it('a CLI on PATH that does not start', async () => {
    const bin = world.directory('bin')
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho "2.1.0 (Claude Code)"\n', { mode: 0o755 })
    writeFileSync(join(bin, 'codex'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const { stdout } = await world.run(['doctor', '--json'], { env: { PATH: `${bin}:/bin` } })
    const found = (JSON.parse(stdout).findings as Told[]).filter(({ check }) => check.startsWith('cli '))
    expect(found).toMatchObject([
      { check: 'cli claude', state: 'ok', text: expect.stringContaining('2.1.0 (Claude Code)') },
      { check: 'cli codex', state: 'fault', fix: expect.stringContaining('codex --version') },
    ])
  })

  it('a CLI that the daemon does not find, since it has another PATH', async () => {
    await world.run(['daemon', 'start'])
    const bin = world.directory('far')
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho "2.1.0 (Claude Code)"\n', { mode: 0o755 })
    const env = { PATH: `${bin}:${process.env.PATH}` }
    const ofClaude = async () => {
      const { findings } = JSON.parse((await world.run(['doctor', '--json'], { env })).stdout)
      return (findings as Told[]).find(({ check }) => check === 'cli claude')
    }
    const text = expect.stringContaining('the daemon does not find it')
    expect(await ofClaude()).toMatchObject({ state: 'note', text, fix: expect.stringContaining('daemon restart') })
    await world.run(['daemon', 'restart'], { env })
    expect(await ofClaude()).toMatchObject({ state: 'ok' })
  })
})

/** The check of the daemon alone: the others would ask that socket for more than a greeting. */
async function checked() {
  const { daemonCheck } = await import('../../src/cli/commands/doctor/data-directory.ts')
  return daemonCheck({ env: { RELAY_DATA_DIR: world.dataDir }, cwd: '/', nodeVersion: '20.19.0' })
}

/** What a killed process leaves behind. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
  const child = spawn(process.execPath, ['-e', script, path])
  await new Promise((resolve) => child.once('exit', resolve))
}
