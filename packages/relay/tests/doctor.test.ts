// `agent-relay doctor`: each fault is planted, found with its mend, and mended by `--fix` where the documentation says so.

import { spawn } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { node } from '../src/cli/doctor/machine.ts'
import { data } from '../src/cli/doctor/place.ts'
import { World } from './cli-world.ts'
import { plantDamage } from './damage-world.ts'

interface Told {
  check: string
  state: 'ok' | 'note' | 'fault'
  text: string
  mend?: string
  isMended: boolean
  isFixable: boolean
}

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close(), 30_000)

const isRoot = process.getuid?.() === 0

async function doctor(...args: string[]): Promise<{ code: number | null; findings: Told[]; faults: Told[] }> {
  const { code, stdout } = await world.run(['doctor', '--json', ...args], { env: { PATH: '/nowhere' } })
  const { findings } = JSON.parse(stdout) as { findings: Told[] }
  return { code, findings, faults: findings.filter(({ state, isMended }) => state === 'fault' && !isMended) }
}

const home = (...parts: string[]) => join(world.root, 'home', ...parts)

async function startDaemon(): Promise<void> {
  expect((await world.run(['daemon', 'start'])).code).toBe(0)
}

describe('a whole installation', () => {
  it('has no fault, and every line says what was looked at', async () => {
    mkdirSync(home('.cursor'))
    await startDaemon()
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
        'editor cursor',
        'clis',
      ]),
    )
    // The question to the server has made no agent.
    expect((await world.run(['agent-names'])).stdout).toBe('')
    const { stdout } = await world.run(['doctor'])
    expect(stdout).toMatch(/^✓ node +Node \d/m)
  })

  it('takes a machine without a daemon, an editor or a CLI for whole, with notes', async () => {
    const { code, findings } = await doctor()
    expect(code).toBe(0)
    expect(
      findings.filter(({ state }) => state === 'note').map(({ check, mend }) => [check, mend !== undefined]),
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
    const [finding] = await node({ env: {}, cwd: '/', nodeVersion: '18.20.4' })
    expect(finding).toMatchObject({
      state: 'fault',
      text: expect.stringContaining('20.19'),
      mend: expect.stringContaining('nodejs.org'),
    })
    expect((await node({ env: {}, cwd: '/', nodeVersion: '20.18.9' }))[0]?.state).toBe('fault')
    expect((await node({ env: {}, cwd: '/', nodeVersion: '24.0.0' }))[0]?.state).toBe('ok')
  })

  it('a data directory that is a file: said, and left as it is', async () => {
    writeFileSync(world.dataDir, 'mine')
    const { code, faults } = await doctor('--fix')
    expect([code, faults.map(({ check, mend }) => [check, mend])]).toEqual([
      1,
      [['data', 'move it, or set RELAY_DATA_DIR']],
    ])
    expect(readFileSync(world.dataDir, 'utf8')).toBe('mine')
  })

  it('a data directory that cannot be made: said, and no start is advised for it', async () => {
    const file = join(world.root, 'file')
    writeFileSync(file, 'mine')
    const findings = await data({ env: { RELAY_DATA_DIR: join(file, 'data') }, cwd: '/', nodeVersion: '24.0.0' })
    expect(findings).toEqual([
      {
        check: 'data',
        state: 'fault',
        text: `${join(file, 'data')} cannot be made: ${file} is no directory`,
        mend: 'mend that with chown or chmod, or set RELAY_DATA_DIR',
      },
    ])
  })

  it('a data directory and keys that others may read: mended', async () => {
    await startDaemon()
    const keys = join(world.dataDir, 'credentials.json')
    chmodSync(world.dataDir, 0o755)
    chmodSync(keys, 0o644)
    const found = await doctor()
    expect(found.code).toBe(1)
    expect(found.faults.map(({ check, isFixable, mend }) => [check, isFixable, mend])).toEqual([
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

  it('a read-only data directory: mended', async () => {
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
    expect((await doctor('--fix')).faults).toMatchObject([{ check: 'keys', mend: expect.stringContaining('--rotate') }])
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
        { state: 'fault', text: expect.stringContaining('the daemon runs 9.9.9'), mend: 'agent-relay daemon restart' },
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
    await startDaemon()
    await world.run(['daemon', 'stop'])
    const path = join(world.dataDir, 'projects', 'app', 'relay.db')
    const bytes = readFileSync(path)
    bytes.fill(0x5a, 4096, 12_288)
    writeFileSync(path, bytes)
    const { faults } = await doctor('--fix')
    expect(faults).toMatchObject([
      {
        check: 'databases',
        text: expect.stringContaining('workspace app is damaged'),
        mend: expect.stringContaining('relay.db'),
      },
    ])
    expect(readFileSync(path).equals(bytes)).toBe(true)
    // The daemon runs for the other workspaces, and says of this one what is wrong.
    const { code, stderr } = await world.run(['daemon', 'start'])
    expect([code, stderr]).toEqual([78, expect.stringContaining(`${path} is damaged (`)])
  })

  it('a database that is damaged in its middle: the same mend everywhere, and followed to the letter it works', async () => {
    await startDaemon()
    for (const body of ['first', 'middle', 'last'])
      expect(await world.run(['send', '#general', `${body}-body ${'x'.repeat(3_000)}`, '--as', 'Al'])).toMatchObject({
        code: 0,
      })
    expect(await world.run(['daemon', 'stop'])).toMatchObject({ code: 0 })
    const path = join(world.dataDir, 'projects', 'app', 'relay.db')
    plantDamage(path, 'middle-body')
    const down = (await doctor()).faults
    // It opens: what it reads at the start is whole.
    await startDaemon()
    const { code, stderr } = await world.run(['events'])
    expect([code, stderr]).toEqual([78, expect.stringContaining(`${path} is damaged (`)])
    const up = (await doctor()).faults
    expect(up).toEqual(down)
    const mend = /agent-relay daemon stop; .*/.exec(stderr)?.[0] as string
    expect(up).toMatchObject([{ check: 'databases', mend: expect.stringContaining(mend) }])

    const followed = await world.shell(mend)
    expect(followed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('damaged') })
    expect((await doctor()).faults).toEqual([])
    expect((await world.run(['send', '#general', 'afresh', '--as', 'Al'])).code).toBe(0)
    expect(readFileSync(join(world.dataDir, 'projects', 'app', 'damaged', 'relay.db')).includes('last-body')).toBe(true)
  })

  it('a port that another program has', async () => {
    const server = createServer()
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
    )
    try {
      const { code, stdout } = await world.run(['doctor', '--json'], {
        env: { PATH: '/nowhere', RELAY_PORT: String(port) },
      })
      expect(code).toBe(1)
      const fault = (JSON.parse(stdout).findings as Told[]).find(({ check }) => check === 'port')
      expect(fault).toMatchObject({
        state: 'fault',
        text: expect.stringContaining(`pid ${process.pid}`),
        mend: expect.stringContaining(`--port ${port + 1}`),
      })
    } finally {
      server.close()
    }
  })

  it('an entry that starts what is not there: mended', async () => {
    mkdirSync(home('.cursor'))
    const entry = { command: process.execPath, args: ['/gone/agent-relay-mcp.cjs', 'serve'] }
    writeFileSync(home('.cursor/mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': entry } }))
    expect((await doctor()).faults).toMatchObject([
      { check: 'editor cursor', text: expect.stringContaining('/gone/agent-relay-mcp.cjs, which is not there') },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
    expect(readFileSync(home('.cursor/mcp.json'), 'utf8')).not.toContain('/gone')
  })

  it('an entry that starts something that does not answer: mended', async () => {
    mkdirSync(home('.cursor'))
    await startDaemon()
    const entry = {
      command: process.execPath,
      args: ['-e', 'process.stderr.write("no such thing\\n"); process.exit(3)'],
    }
    writeFileSync(home('.cursor/mcp.json'), JSON.stringify({ mcpServers: { 'agent-relay': entry } }))
    expect((await doctor()).faults).toMatchObject([
      { check: 'editor cursor', text: expect.stringContaining('does not answer tools/list: no such thing') },
    ])
    expect((await doctor('--fix')).faults).toEqual([])
    expect((await doctor()).faults).toEqual([])
  })

  it("entries in this project's files: tried where they are ours, never started where they are not", async () => {
    await startDaemon()
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
        text: expect.stringContaining('/app/.mcp.json starts /gone/agent-relay-mcp.cjs, which is not there'),
        mend: 'agent-relay mcp install --project --editor claude',
      },
    ])
    const texts = Object.fromEntries(findings.map(({ check, text }) => [check, text]))
    expect(texts).toMatchObject({
      'editor cursor': expect.stringMatching(/app\/\.cursor\/mcp\.json, the server answers$/),
      'editor gemini': expect.stringContaining('not tried: the project names a program of its own'),
      'editor vscode': expect.stringContaining('not tried: by its address http://127.0.0.1:8101/mcp'),
    })
    expect(existsSync(trace)).toBe(false)
    const [{ mend } = { mend: '' }] = faults
    expect((await world.shell(mend as string)).code).toBe(0)
    expect((await doctor()).faults).toEqual([])
  })

  it("an editor's file that cannot be read: left as it is", async () => {
    mkdirSync(home('.codex'))
    writeFileSync(home('.codex/config.toml'), 'a = [\n')
    expect((await doctor('--fix')).faults).toMatchObject([
      {
        check: 'editor codex',
        text: expect.stringContaining('not valid TOML'),
        mend: expect.stringContaining('mend the file'),
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
      { check: 'cli codex', state: 'fault', mend: expect.stringContaining('codex --version') },
    ])
  })
})

/** The check of the daemon alone: the others would ask that socket for more than a greeting. */
async function checked() {
  const { daemon } = await import('../src/cli/doctor/place.ts')
  return daemon({ env: { RELAY_DATA_DIR: world.dataDir }, cwd: '/', nodeVersion: '20.19.0' })
}

/** What a killed process leaves behind. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require('node:net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`
  const child = spawn(process.execPath, ['-e', script, path])
  await new Promise((resolve) => child.once('exit', resolve))
}
