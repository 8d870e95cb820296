// `agent-relay setup`, with and without a person, and the completion scripts.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { editors } from '@agent-relay/mcp/install'
import { spawn as spawnPty } from '@lydell/node-pty'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../../../test/until.ts'
import { allCommands } from '../../src/cli/catalog.ts'
import type { NamedCommand } from '../../src/cli/command.ts'
import { launcher, World } from './cli-world.ts'

let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close())

const home = (...parts: string[]) => join(world.root, 'home', ...parts)

describe('setup --yes', () => {
  it('makes the workspace, runs the daemon, connects what is found, and asks nothing', async () => {
    mkdirSync(home('.cursor'))
    const { code, stdout, stderr } = await world.launch(['setup', '--yes'], { env: { PATH: '/nowhere' } })
    expect([code, stderr]).toEqual([0, expect.stringContaining('The daemon runs')])
    expect(stdout).toContain('✓ Cursor configured')
    expect(JSON.parse(readFileSync(join(world.cwd, '.relay/config.json'), 'utf8')).project).toBe('app')
    expect(JSON.parse(readFileSync(home('.cursor/mcp.json'), 'utf8')).mcpServers).toHaveProperty('agent-relay')
    expect((await world.json(['status'])).workspace).toBe('app')
  })

  it('is content without an editor, and adds hooks unless told not to', async () => {
    const { code, stderr } = await world.launch(['setup', '--yes'], { env: { PATH: '/nowhere' } })
    expect([code, stderr]).toEqual([0, expect.stringMatching(/\/agent-relay mcp install/)])
    await world.run(['setup', '--yes', '--editor', 'claude', '--no-hooks'])
    expect(existsSync(home('.claude/settings.json'))).toBe(false)
    await world.run(['mcp', 'install', '--editor', 'claude', '--yes'])
    expect(existsSync(home('.claude/settings.json'))).toBe(true)
  })

  it('says what to do where nobody can answer', async () => {
    const { code, stderr } = await world.run(['setup'])
    expect([code, stderr]).toEqual([
      2,
      'setup asks questions, and this is not a terminal. For the defaults: agent-relay setup --yes\n',
    ])
  })
})

describe('setup on a terminal', () => {
  function open(env: Record<string, string> = {}) {
    const pty = spawnPty(process.execPath, [launcher, 'setup'], {
      cwd: world.cwd,
      cols: 100,
      rows: 40,
      env: { PATH: '/nowhere', HOME: home(), RELAY_DATA_DIR: world.dataDir, RELAY_PORT: '0', TERM: 'xterm', ...env },
    })
    let screen = ''
    pty.onData((data) => {
      screen += data
    })
    const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))
    const sees = async (text: string) => {
      await until(() => screen.includes(text)).catch(() => {
        throw new Error(`not seen: ${text}\n${screen}`)
      })
    }
    return { pty, ended, sees }
  }

  it('asks for the workspace, the editors and the hooks', async () => {
    mkdirSync(home('.gemini'))
    const { pty, ended, sees } = open()
    await sees('The workspace of this directory')
    pty.write('\r')
    await sees('Editors and CLIs to connect')
    pty.write('\r')
    await sees('also install hooks?')
    pty.write('\r')
    await sees('Gemini CLI hooks configured')
    expect(await ended).toBe(0)
    expect(Object.keys(JSON.parse(readFileSync(home('.gemini/settings.json'), 'utf8'))).sort()).toEqual([
      'hooks',
      'mcpServers',
    ])
    expect((await world.json(['status'])).workspace).toBe('app')
  })

  it('asks whether the daemon runs by itself where systemd could do that, and checks before it asks', async () => {
    mkdirSync(home('runtime/systemd'), { recursive: true })
    const { pty, ended, sees } = open({ XDG_RUNTIME_DIR: home('runtime') })
    await sees('The workspace of this directory')
    pty.write('\r')
    await sees('Editors and CLIs to connect')
    pty.write('\r')
    await sees('Should the daemon run by itself')
    pty.write('y')
    await sees('To start it now and at every login')
    expect(await ended).toBe(0)
    expect(existsSync(home('.config/systemd/user/agent-relay.service'))).toBe(true)

    writeFileSync(join(world.dataDir, 'credentials.json'), 'not json')
    const broken = open()
    await broken.sees('not valid JSON')
    expect(await broken.ended).toBe(78)
  })

  it('changes nothing when it is left', async () => {
    const { pty, ended, sees } = open()
    await sees('The workspace of this directory')
    pty.write('\u0003')
    await sees('Nothing was changed.')
    expect(await ended).toBe(1)
    expect([existsSync(world.dataDir), existsSync(join(world.cwd, '.relay'))]).toEqual([false, false])
  })
})

describe('mcp install', () => {
  it('is the same installer, where --project is a flag', async () => {
    const { code, stdout } = await world.run(['mcp', 'install', '-e', 'cursor', '--project'])
    expect([code, stdout]).toEqual([0, expect.stringContaining('✓ Cursor configured')])
    expect(existsSync(join(world.cwd, '.cursor/mcp.json'))).toBe(true)
    expect((await world.run(['mcp', 'install', '-e', 'nope'])).code).toBe(1)
    expect((await world.run(['mcp', 'install', '-g', '--project'])).code).toBe(2)
    expect((await world.json<{ editors: object[] }>(['mcp', 'uninstall', '--project'])).editors).toMatchObject([
      { status: 'removed' },
    ])
    expect(existsSync(join(world.cwd, '.cursor'))).toBe(false)
  })

  it('asks the daemon whose key it is, where the credentials file does not know it', async () => {
    await world.serve()
    const { key } = await world.json<{ key: string }>(['workspace', 'create', 'frontend'])
    writeFileSync(join(world.dataDir, 'credentials.json'), '{"workspaces":{}}', { mode: 0o600 })
    await world.run(['mcp', 'install', '-e', 'cursor', '--workspace', key])
    const { args } = JSON.parse(readFileSync(home('.cursor/mcp.json'), 'utf8')).mcpServers['agent-relay']
    expect(args.slice(-4)).toEqual(['--project', 'frontend', '--tools', 'relay,workspace'])
  })
})

describe('completion', () => {
  const shown = (all: NamedCommand[], path = ''): string[] =>
    all
      .filter(({ isHidden }) => !isHidden)
      .flatMap(({ name, commands = [] }) => [`${path}${name}`, ...shown(commands, `${path}${name} `)])

  it.for(['bash', 'zsh', 'fish'])('knows every command in %s, which can read it', async (shell, { skip }) => {
    const { code, stdout } = await world.run(['completion', shell])
    expect(code).toBe(0)
    for (const path of shown(await allCommands())) expect(stdout, path).toContain(path)
    expect(stdout).not.toMatch(/undefined|agent-names'?\)? *;;.*daemon run/)
    // In a file: fish does not check what comes over stdin.
    const file = join(world.root, 'completion')
    writeFileSync(file, stdout)
    const { error, stderr, status } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
    if (error) return skip(`${shell} is not installed`)
    expect([stderr, status]).toEqual(['', 0])
  })

  it('refuses another shell', async () => {
    expect(await world.run(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('bash, zsh, fish'),
    })
  })

  it('completes in bash: commands, options, values and the names of agents', async () => {
    // Not in this process, which waits while bash runs.
    await world.run(['daemon', 'start'])
    await world.run(['inbox', '--as', 'Alice'])
    const { stdout: script } = await world.run(['completion', 'bash'])
    const bin = world.directory('bin')
    writeFileSync(join(bin, 'agent-relay'), `#!/bin/sh\nexec '${process.execPath}' '${launcher}' "$@"\n`, {
      mode: 0o755,
    })
    const complete = (...words: string[]) => {
      const line = words.map((word) => `'${word}'`).join(' ')
      const input = `${script}\nCOMP_WORDS=(agent-relay ${line}); COMP_CWORD=${words.length}; _agent_relay; echo "\${COMPREPLY[*]}"\n`
      const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home(), RELAY_DATA_DIR: world.dataDir }
      return spawnSync('bash', ['-s'], { input, env, cwd: world.cwd, encoding: 'utf8' }).stdout.trim()
    }
    expect(complete('se')).toBe('send search setup')
    expect(complete('daemon', 'st')).toBe('start stop status')
    expect(complete('workspace', 'policy', 's')).toBe('set')
    expect(complete('send', 'Al')).toBe('Alice')
    expect(complete('inbox', '--as', '')).toBe('Alice')
    expect(complete('send', '--kind', 'q')).toBe('question')
    expect(complete('inbox', '--fo')).toBe('--follow')
    expect(complete('completion', 'z')).toBe('zsh')
    expect(complete('spawn', 'Fixer', '--cli', 'g')).toBe('gemini goose')
    expect(complete('channel', 'join', 'gen')).toBe('general')
    expect(complete('who', '--project', '')).toBe('app home')
    for (const verb of ['open', 'close']) expect(complete('workspaces', verb, 'ho')).toBe('home')
    expect(complete('action', 'invoke', 'agent.p')).toBe('agent.pause')
    expect(complete('send', '--project', 'nowhere', 'Al')).toBe('')
    const sent = await world.json<{ id: string }>(['send', 'Alice', 'hi', '--as', 'Alice2'])
    expect(complete('receipts', 'm_')).toBe(sent.id)
    const start = ['runs', 'start', '--harness', 'external', '--agent', 'Alice', '--contract', 'x', '--as', 'Alice2']
    const run = await world.json<{ id: string }>(start)
    expect(complete('runs', 'payload', 'run_')).toBe(run.id)
    // Nobody was registered by that.
    expect(complete('inbox', '--as', '').split(' ').sort()).toEqual(['Alice', 'Alice2'])
    expect(complete('mcp', 'install', '-e', '').split(' ')).toEqual(['auto', 'all', ...editors.map(({ name }) => name)])
  })

  it('is silent without a daemon, and starts none', async () => {
    expect(await world.launch(['agent-names'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(existsSync(join(world.dataDir, 'control.sock'))).toBe(false)
  })
})
