// The launcher that entries and hooks start: it outlives an update of Node and of its target, and names the command that helps if one is gone.

import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  isLauncherCommand,
  launcherCommand,
  launcherPath,
  launcherState,
  refreshLauncher,
} from '../src/launcher/index.ts'
import { bin, Home } from './install-world.ts'

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

let home: Home
let env: Record<string, string>
let script: string
beforeEach(() => {
  home = new Home()
  env = { RELAY_DATA_DIR: join(home.root, 'data'), PATH: '/nowhere' }
  script = join(home.root, "it's there.cjs")
  writeFileSync(script, 'process.stdout.write(JSON.stringify([process.execPath, ...process.argv.slice(2)]))')
})
afterEach(() => home.close())

function run(args: string[], more: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(launcherPath(env), args, { env: { ...env, ...more }, encoding: 'utf8' })
  return { status, stdout, stderr }
}

describe.runIf(process.platform !== 'win32')('the launcher', () => {
  it('starts this installation, for its owner alone, whatever the umask', () => {
    const before = process.umask(0o077)
    onTestFinished(() => void process.umask(before))
    const path = refreshLauncher(env)
    process.umask(before)
    expect(path).toBe(home.launcher)
    expect([lstatSync(path).mode & 0o777, lstatSync(join(path, '..')).mode & 0o777]).toEqual([0o755, 0o700])
    expect(run(['--version'])).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
    const { ino } = lstatSync(path)
    refreshLauncher(env)
    expect([lstatSync(path).ino, launcherState(env)]).toEqual([ino, 'current'])
  })

  it('passes arguments as they are, by the process that the host started', () => {
    refreshLauncher(env, { node: process.execPath, script })
    const args = ['serve', '', 'two words', `$HOME'"\`x`]
    expect(JSON.parse(run(args).stdout)).toEqual([process.execPath, ...args])
    writeFileSync(script, 'process.stdout.write(String(process.pid))')
    const { pid, stdout } = spawnSync(launcherPath(env), [], { env, encoding: 'utf8' })
    expect(stdout).toBe(String(pid))
  })

  describe('of a hook', () => {
    const hook = (more: Record<string, string> = {}) => run(['hook', 'Stop', '--cli', 'claude'], more)
    const silence = { status: 0, stdout: '', stderr: '' }
    const announce = (pid: number | string) => {
      mkdirSync(join(home.root, 'data/hooks'), { recursive: true })
      writeFileSync(join(home.root, 'data/hooks/daemon'), `${pid}\n`)
    }
    beforeEach(() => refreshLauncher(env, { node: process.execPath, script }))

    it('starts no Node unless a daemon is there', () => {
      expect(hook()).toEqual(silence)
      const { pid: gone } = spawnSync('true')
      for (const pid of ['', 'x', '-1x', gone]) {
        announce(pid)
        expect([pid, hook()]).toEqual([pid, silence])
      }
      announce(process.pid)
      expect(JSON.parse(hook().stdout)).toEqual([process.execPath, 'hook', 'Stop', '--cli', 'claude'])
      // A worker has hooks of its own.
      expect(hook({ RELAY_WORKER: 'w_1' })).toEqual(silence)
    })

    it('starts no Node where nothing waits, except for a session that begins or a brief', () => {
      announce(process.pid)
      const path = (name: string) => join(home.root, 'data/hooks', `${name}.${process.pid}`)
      const isStarted = (event: string, more: Record<string, string> = {}) =>
        run(['hook', event, '--cli', 'gemini'], more).stdout !== ''
      expect(['SessionStart', 'BeforeAgent', 'AfterAgent'].map((event) => isStarted(event))).toEqual([true, true, true])
      writeFileSync(path('quiet'), '')
      expect(['SessionStart', 'BeforeAgent', 'AfterAgent'].map((event) => isStarted(event))).toEqual([
        true,
        false,
        false,
      ])
      // Whoever they speak for need not be one of the agents that the daemon knows at this program.
      for (const name of ['RELAY_AGENT_TOKEN', 'RELAY_BASE_URL', 'RELAY_SOCKET'])
        expect([name, isStarted('BeforeAgent', { [name]: 'x' })]).toEqual([name, true])
      writeFileSync(path('brief'), 'clear\n')
      expect(isStarted('BeforeAgent')).toBe(true)
    })

    it('notices by the record of Gemini CLI that its memory was cut in a turn, once', () => {
      announce(process.pid)
      const [brief, record] = [
        join(home.root, `data/hooks/brief.${process.pid}`),
        join(home.root, 'it is "here".jsonl'),
      ]
      writeFileSync(record, '{"sessionId":"s"}\n{"$set":{"lastUpdated":"x"}}\n')
      const plain = home.write('record.jsonl', readFileSync(record, 'utf8'))
      const turn = (path: string, trigger = 'auto') => {
        const said = (event: string) =>
          spawnSync(launcherPath(env), ['hook', event, '--cli', 'gemini'], {
            env: { ...env, PATH: process.env.PATH },
            input: `${JSON.stringify({ session_id: 's', transcript_path: path, hook_event_name: event, trigger })}\n`,
            encoding: 'utf8',
          })
        expect(said('BeforeAgent').stderr).toBe('')
        const isBriefed = existsSync(brief)
        rmSync(brief, { force: true })
        expect(said('PreCompress')).toMatchObject({ stdout: '', stderr: '' })
        return isBriefed
      }
      const cut = (path: string) => appendFileSync(path, '{"$set":{"sessionId":"s"}}\n')
      expect([turn(plain), turn(plain)]).toEqual([false, false])
      cut(plain)
      expect([turn(plain), turn(plain)]).toEqual([true, false])
      rmSync(plain)
      expect(turn(plain)).toBe(false)
      // A path that cannot be told is not guessed at.
      cut(record)
      expect([turn(record), turn(record)]).toEqual([false, false])
      expect([turn(plain, 'manual'), existsSync(brief)]).toEqual([false, true])
    })

    it('reads no certificates, unless the daemon is elsewhere', () => {
      announce(process.pid)
      writeFileSync(script, 'process.stdout.write(String(process.env.NODE_EXTRA_CA_CERTS))')
      const NODE_EXTRA_CA_CERTS = '/nowhere/roots.pem'
      expect(hook({ NODE_EXTRA_CA_CERTS }).stdout).toBe('undefined')
      expect(hook({ NODE_EXTRA_CA_CERTS, RELAY_BASE_URL: 'https://relay.example' }).stdout).toBe(NODE_EXTRA_CA_CERTS)
    })

    it('says nothing where what it starts is gone', () => {
      announce(process.pid)
      refreshLauncher(env, { node: '/nowhere/versions/1/bin/node', script })
      expect(hook({ PATH: '/nowhere' }).stderr).toBe('')
      refreshLauncher(env, { node: process.execPath, script: join(home.root, 'gone.cjs') })
      expect(hook()).toEqual(silence)
      expect(run(['serve'])).toMatchObject({ status: 78 })
    })
  })

  it.runIf(process.getuid?.() === 0)("starts no Node of another user's beside the former one", () => {
    const versions = join(home.root, 'versions')
    const [folder, canary] = [join(versions, 'v99/bin'), join(home.root, 'canary')]
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'node'), `#!/bin/sh\n: > '${canary}'\n`, { mode: 0o755 })
    chownSync(folder, 65_534, 65_534)
    refreshLauncher(env, { node: join(versions, 'v20/bin/node'), script })
    run(['serve'])
    expect(existsSync(canary)).toBe(false)
    chownSync(folder, 0, 0)
    run(['serve'])
    expect(existsSync(canary)).toBe(true)
  })

  it('looks for no versions beside a Node of the system', () => {
    refreshLauncher(env, { node: '/nowhere/bin/node', script })
    expect(readFileSync(launcherPath(env), 'utf8')).toContain('node=/nowhere/bin/node\n')
    const traced = spawnSync('/bin/sh', ['-x', launcherPath(env), 'serve'], { env, encoding: 'utf8' })
    // The shell tells each file that it tries: none lies in a folder at the root but the usual ones.
    const tried = traced.stderr.match(/(?<=found=|\[ -x )'?\/\S*\/bin\/node/g) ?? []
    expect(tried.filter((path) => !/^'?\/(?:nowhere|usr|opt)\//.test(path))).toEqual([])
    expect(tried.length).toBeGreaterThan(0)
  })

  it('takes another Node where the former one is gone, and leaves its input to the server', () => {
    const versions = join(home.root, 'versions')
    mkdirSync(join(versions, 'v99/bin'), { recursive: true })
    symlinkSync(process.execPath, join(versions, 'v99/bin/node'))
    writeFileSync(script, 'process.stdin.pipe(process.stdout)')
    // Beside the former version, as nvm, mise and Homebrew keep them.
    refreshLauncher(env, { node: join(versions, 'v20/bin/node'), script })
    const { stdout } = spawnSync(launcherPath(env), [], { env, input: 'hello', encoding: 'utf8' })
    expect(stdout).toBe('hello')
    // On the PATH; one that is too old is passed over.
    const [old, fresh] = ['old', 'fresh'].map((name) => join(home.root, name))
    for (const folder of [old, fresh]) mkdirSync(folder as string)
    writeFileSync(join(old as string, 'node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    symlinkSync(process.execPath, join(fresh as string, 'node'))
    refreshLauncher(env, { node: join(home.root, 'gone/node'), script })
    expect(spawnSync(launcherPath(env), [], { env: { ...env, PATH: fresh }, input: 'again' }).stdout.toString()).toBe(
      'again',
    )
    refreshLauncher(env, { node: join(home.root, 'gone/node'), script: bin })
    expect(run(['--version'], { PATH: `${old}:${fresh}` }).status).toBe(0)
  })

  it('takes no Node from a folder of the PATH that depends on the current directory', () => {
    const canary = join(home.root, 'canary')
    mkdirSync(join(home.root, 'bin'))
    writeFileSync(join(home.root, 'bin/node'), `#!/bin/sh\n: > '${canary}'\n`, { mode: 0o755 })
    refreshLauncher(env, { node: join(home.root, 'gone/node'), script })
    const start = (PATH: string, cwd: string) => spawnSync(launcherPath(env), [], { env: { ...env, PATH }, cwd })
    for (const PATH of ['bin', './bin', 'bin:.', ':']) start(PATH, PATH === ':' ? join(home.root, 'bin') : home.root)
    expect(existsSync(canary)).toBe(false)
    start(join(home.root, 'bin'), '/')
    expect(existsSync(canary)).toBe(true)
  })

  it('says what is gone and the command that helps', () => {
    refreshLauncher(env, { node: process.execPath, script: join(home.root, 'gone.cjs') })
    const { status, stdout, stderr } = run(['serve'])
    expect([status, stdout]).toEqual([78, ''])
    expect(stderr).toMatch(/^ERROR: .+\/gone\.cjs is missing\.\n/)
    expect(stderr).toContain('./agent-relay mcp install')
    expect(stderr).toContain('agent-relay mcp install')
  })

  it('is written again in one step, and in place of whatever stood there', () => {
    refreshLauncher(env, { node: process.execPath, script })
    expect(launcherState(env)).toBe('other')
    refreshLauncher(env)
    expect(launcherState(env)).toBe('current')
    chmodSync(home.launcher, 0o644)
    refreshLauncher(env)
    expect(run(['--version']).status).toBe(0)
    const elsewhere = home.write('elsewhere', 'mine')
    spawnSync('rm', [home.launcher])
    symlinkSync(elsewhere, home.launcher)
    refreshLauncher(env)
    expect([readFileSync(elsewhere, 'utf8'), lstatSync(home.launcher).isFile()]).toEqual(['mine', true])
    expect(readdirSync(join(home.launcher, '..'))).toEqual(['agent-relay-mcp'])
  })

  it('is not written through a link in place of its folder', () => {
    mkdirSync(join(home.root, 'data'))
    symlinkSync(home.path, join(home.root, 'data/bin'))
    expect(() => refreshLauncher(env)).toThrow('is not a directory')
    expect(existsSync(join(home.path, 'agent-relay-mcp'))).toBe(false)
  })
})

it('is known by its command', () => {
  const { command, args } = launcherCommand(['serve'], env)
  expect(isLauncherCommand([command, ...args], env)).toBe(true)
  expect(isLauncherCommand(['npx', '-y', 'something', 'serve'], env)).toBe(false)
  expect(isLauncherCommand([], env)).toBe(false)
})
