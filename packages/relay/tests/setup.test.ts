// `agent-relay setup`, with and without a person, and the completion scripts.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { editors } from '@agent-relay/mcp/install'
import { spawn as spawnPty } from '@lydell/node-pty'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { catalog } from '../src/cli/catalog.ts'
import { World } from './cli-world.ts'

const launcher = fileURLToPath(new URL('../bin/agent-relay.cjs', import.meta.url))
let world: World
beforeEach(() => {
  world = new World()
})
afterEach(() => world.close(), 30_000)

const home = (...parts: string[]) => join(world.root, 'home', ...parts)

describe('setup --yes', () => {
  it('makes the workspace, runs the daemon, connects what is found, and asks nothing', async () => {
    mkdirSync(home('.cursor'))
    const { code, stdout, stderr } = await world.run(['setup', '--yes'], { env: { PATH: '/nowhere' } })
    expect([code, stderr]).toEqual([0, expect.stringContaining('The daemon runs')])
    expect(stdout).toContain('✓ Cursor configured')
    expect(JSON.parse(readFileSync(join(world.cwd, '.relay/config.json'), 'utf8')).project).toBe('app')
    expect(JSON.parse(readFileSync(home('.cursor/mcp.json'), 'utf8')).mcpServers).toHaveProperty('agent-relay')
    expect((await world.json(['status'])).workspace).toBe('app')
  })

  it('is content without an editor, and adds hooks when told to', async () => {
    const { code, stderr } = await world.run(['setup', '--yes'], { env: { PATH: '/nowhere' } })
    expect([code, stderr]).toEqual([0, expect.stringContaining('agent-relay mcp install')])
    await world.run(['setup', '--yes', '--editor', 'claude', '--hooks'])
    expect(existsSync(home('.claude/settings.json'))).toBe(true)
  })

  it('says what to do where nobody can answer', async () => {
    const { code, stderr } = await world.run(['setup'])
    expect([code, stderr]).toEqual([
      2,
      'setup asks questions, and this is no terminal. For the defaults: agent-relay setup --yes\n',
    ])
  })
})

describe('setup on a terminal', () => {
  function open() {
    const pty = spawnPty(process.execPath, [launcher, 'setup'], {
      cwd: world.cwd,
      cols: 100,
      rows: 40,
      env: { PATH: '/nowhere', HOME: home(), RELAY_DATA_DIR: world.dataDir, RELAY_PORT: '0', TERM: 'xterm' },
    })
    let screen = ''
    pty.onData((data) => {
      screen += data
    })
    const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)))
    const sees = async (text: string) => {
      const until = Date.now() + 10_000
      while (!screen.includes(text)) {
        if (Date.now() > until) throw new Error(`not seen: ${text}\n${screen}`)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
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
    await sees('Hooks as well?')
    pty.write('y')
    await sees('Gemini CLI hooks configured')
    expect(await ended).toBe(0)
    expect(Object.keys(JSON.parse(readFileSync(home('.gemini/settings.json'), 'utf8'))).sort()).toEqual([
      'hooks',
      'mcpServers',
    ])
    expect((await world.json(['status'])).workspace).toBe('app')
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
    await world.run(['daemon', 'start'])
    const { key } = await world.json<{ key: string }>(['workspace', 'create', 'frontend'])
    writeFileSync(join(world.dataDir, 'credentials.json'), '{"workspaces":{}}', { mode: 0o600 })
    await world.run(['mcp', 'install', '-e', 'cursor', '--workspace', key])
    const { args } = JSON.parse(readFileSync(home('.cursor/mcp.json'), 'utf8')).mcpServers['agent-relay']
    expect(args.slice(-2)).toEqual(['--project', 'frontend'])
  })
})

describe('completion', () => {
  const shown = (rules: typeof catalog, path = ''): string[] =>
    rules
      .filter(({ isHidden }) => !isHidden)
      .flatMap(({ name, commands = [] }) => [`${path}${name}`, ...shown(commands, `${path}${name} `)])

  it('knows every command, in each shell', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, stdout } = await world.run(['completion', shell])
      expect(code).toBe(0)
      for (const path of shown(catalog)) expect(stdout, `${shell}: ${path}`).toContain(path)
      expect(stdout).not.toMatch(/undefined|agent-names'?\)? *;;.*daemon run/)
      const program = spawnSync(shell, ['-n'], { input: stdout, encoding: 'utf8' })
      if (!program.error) expect([shell, program.stderr, program.status]).toEqual([shell, '', 0])
    }
    expect(await world.run(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('bash, zsh, fish'),
    })
  })

  it('completes in bash: commands, options, values and the names of agents', async () => {
    await world.run(['daemon', 'start'])
    await world.run(['inbox', '--as', 'Alice'])
    const { stdout: script } = await world.run(['completion', 'bash'])
    const bin = world.directory('bin')
    writeFileSync(join(bin, 'agent-relay'), `#!/bin/sh\nexec ${process.execPath} ${launcher} "$@"\n`, { mode: 0o755 })
    const complete = (...words: string[]) => {
      const line = words.map((word) => `'${word}'`).join(' ')
      const input = `${script}\nCOMP_WORDS=(agent-relay ${line}); COMP_CWORD=${words.length}; _agent_relay; echo "\${COMPREPLY[*]}"\n`
      const env = { PATH: `${bin}:${process.env.PATH}`, HOME: home(), RELAY_DATA_DIR: world.dataDir }
      return spawnSync('bash', ['-s'], { input, env, cwd: world.cwd, encoding: 'utf8' }).stdout.trim()
    }
    expect(complete('se')).toBe('setup send search')
    expect(complete('daemon', 'st')).toBe('start stop status')
    expect(complete('workspace', 'policy', 's')).toBe('set')
    expect(complete('send', 'Al')).toBe('Alice')
    expect(complete('inbox', '--as', '')).toBe('Alice')
    expect(complete('send', '--kind', 'q')).toBe('question')
    expect(complete('inbox', '--fo')).toBe('--follow')
    expect(complete('completion', 'z')).toBe('zsh')
    expect(complete('spawn', 'Fixer', '--cli', 'g')).toBe('gemini')
    expect(complete('mcp', 'install', '-e', '').split(' ')).toEqual(['auto', 'all', ...editors.map(({ name }) => name)])
  })

  it('is silent and quick without a daemon', async () => {
    const from = performance.now()
    expect(await world.run(['agent-names'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(performance.now() - from).toBeLessThan(3_000)
  })
})
