// `agent-relay-mcp install` and `uninstall` by the real launcher: the printed lines, the files written for each editor, and their removal.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { detectEditors, editors, installContext, runInstall } from '../src/install/index.ts'
import { relayCommand } from '../src/launcher/index.ts'
import { bin, Home, word } from './install-world.ts'

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.close())

/** Each editor: its files for the user and for a project, its key, its entry. */
function golden(launcher: string): Record<string, [string, string | undefined, string, object]> {
  const plain = { command: launcher, args: ['serve'] }
  return {
    claude: ['.claude.json', '.mcp.json', 'mcpServers', { type: 'stdio', ...plain, alwaysLoad: true }],
    'claude-desktop': ['.config/Claude/claude_desktop_config.json', undefined, 'mcpServers', plain],
    cursor: ['.cursor/mcp.json', '.cursor/mcp.json', 'mcpServers', plain],
    vscode: ['.config/Code/User/mcp.json', '.vscode/mcp.json', 'servers', { type: 'stdio', ...plain }],
    windsurf: ['.codeium/windsurf/mcp_config.json', undefined, 'mcpServers', plain],
    zed: ['.config/zed/settings.json', undefined, 'context_servers', { ...plain, env: {} }],
    gemini: [
      '.gemini/settings.json',
      '.gemini/settings.json',
      'mcpServers',
      { ...plain, env: { RELAY_AGENT_NAME: '$RELAY_AGENT_NAME', RELAY_AGENT_TOKEN: '$RELAY_AGENT_TOKEN' } },
    ],
    opencode: [
      '.config/opencode/opencode.json',
      'opencode.json',
      'mcp',
      { type: 'local', command: [launcher, 'serve'], enabled: true },
    ],
    droid: [
      '.factory/mcp.json',
      '.factory/mcp.json',
      'mcpServers',
      {
        type: 'stdio',
        ...plain,
        env: { RELAY_AGENT_NAME: `\${RELAY_AGENT_NAME:-}`, RELAY_AGENT_TOKEN: `\${RELAY_AGENT_TOKEN:-}` },
      },
    ],
    copilot: ['.copilot/mcp-config.json', '.github/mcp.json', 'mcpServers', { type: 'local', ...plain, tools: ['*'] }],
    qwen: ['.qwen/settings.json', '.qwen/settings.json', 'mcpServers', plain],
  }
}

const codexBlock = (launcher: string) => `[mcp_servers.agent-relay]
command = ${JSON.stringify(launcher)}
args = ["serve"]
env_vars = ["RELAY_AGENT_NAME", "RELAY_AGENT_TOKEN", "RELAY_PROJECT", "RELAY_SOCKET", "RELAY_DATA_DIR", "RELAY_BASE_URL", "XDG_DATA_HOME"]
`

describe.runIf(process.platform === 'linux')('what each editor gets', () => {
  it('is its own file, key and shape for the user, and all of it goes again', async () => {
    const { code } = await home.run(['install', '-e', 'all', '--no-hooks'])
    expect(code).toBe(0)
    for (const [name, [file, , key, entry]] of Object.entries(golden(home.launcher)))
      expect(JSON.parse(home.read(file)), name).toEqual({ [key]: { 'agent-relay': entry } })
    expect(home.read('.codex/config.toml')).toBe(codexBlock(home.launcher))
    expect(Object.keys(golden(home.launcher)).length + 1).toBe(editors.length)
    expect((await home.run(['uninstall'])).code).toBe(0)
    expect(readdirSync(home.path)).toEqual([])
  })

  it('is the same in a project, where the editor has project files', async () => {
    const { editors: outcomes, exit } = await home.report('install', '-e', 'all', '--project')
    expect(exit).toBe(1)
    for (const [name, [, file, key, entry]] of Object.entries(golden(home.launcher))) {
      const outcome = outcomes.find(({ editor }) => editor === name)
      if (file === undefined)
        expect(outcome).toMatchObject({ status: 'failed', why: 'it reads no servers from a project' })
      else {
        expect(outcome, name).toMatchObject({ status: 'created', file: join(home.project, file) })
        expect(JSON.parse(readFileSync(join(home.project, file), 'utf8')), name).toEqual({
          [key]: { 'agent-relay': entry },
        })
      }
    }
    expect(readFileSync(join(home.project, '.codex/config.toml'), 'utf8')).toBe(codexBlock(home.launcher))
    expect(readdirSync(home.path)).toEqual([])
    await home.run(['uninstall', '--project'])
    expect(readdirSync(home.project)).toEqual([])
  })

  it('goes where the variables of a CLI say', async () => {
    const env = {
      CLAUDE_CONFIG_DIR: join(home.root, 'c'),
      CODEX_HOME: join(home.root, 'x'),
      GEMINI_CLI_HOME: join(home.root, 'g'),
      XDG_CONFIG_HOME: join(home.root, 'o'),
    }
    await home.run(['install', '-e', 'claude,codex,gemini,opencode,zed'], { env })
    const files = [
      'c/.claude.json',
      'x/config.toml',
      'g/.gemini/settings.json',
      'o/opencode/opencode.json',
      'o/zed/settings.json',
    ]
    expect(files.filter((file) => existsSync(join(home.root, file)))).toEqual(files)
  })

  it('takes the file of opencode that is there', async () => {
    home.write('.config/opencode/opencode.jsonc', '{\n  // mine\n  "theme": "x"\n}\n')
    await home.run(['install', '-e', 'opencode'])
    expect(home.read('.config/opencode/opencode.jsonc')).toContain('"agent-relay"')
  })
})

describe('other systems', () => {
  it('have their own places', () => {
    const around = { ...installContext({}), home: '/Users/kim', platform: 'darwin' as const, exists: () => false }
    const windows = {
      ...around,
      home: 'C:\\Users\\kim',
      env: { APPDATA: 'C:\\Users\\kim\\AppData\\Roaming' },
      platform: 'win32' as const,
    }
    const files = (name: string) => {
      const editor = editors.find((each) => each.name === name)
      return [editor?.userFile(around), editor?.userFile(windows)]
    }
    expect(files('vscode')).toEqual([
      '/Users/kim/Library/Application Support/Code/User/mcp.json',
      'C:\\Users\\kim\\AppData\\Roaming\\Code\\User\\mcp.json',
    ])
    expect(files('claude-desktop')).toEqual([
      '/Users/kim/Library/Application Support/Claude/claude_desktop_config.json',
      'C:\\Users\\kim\\AppData\\Roaming\\Claude\\claude_desktop_config.json',
    ])
    expect(files('zed')).toEqual([
      '/Users/kim/.config/zed/settings.json',
      'C:\\Users\\kim\\AppData\\Roaming\\Zed\\settings.json',
    ])
  })

  it('are found by a folder or a program', () => {
    const found = (paths: string[]) =>
      detectEditors({
        ...installContext({ PATH: '/bin' }),
        home: '/h',
        platform: 'linux',
        exists: (path) => paths.includes(path),
      })
    expect(found([])).toEqual([])
    expect(found(['/h/.cursor', '/bin/codex']).map(({ name }) => name)).toEqual(['cursor', 'codex'])
  })
})

describe('what is said', () => {
  it('names each editor, what was done and what to do next', async () => {
    home.write('.cursor/keep')
    home.write('.codex/config.toml', 'a = 1\nb = [\n')
    const { code, stdout } = await home.run(['install'])
    expect(code).toBe(78)
    expect(stdout).toContain('Installing Agent Relay MCP server...\n\n  ✓ Cursor configured (~/.cursor/mcp.json)\n')
    expect(stdout).toMatch(
      / {2}✗ Codex: ~\/\.codex\/config\.toml: line \d: not valid TOML .*Nothing was changed\. Paste this yourself:\n {6}\[mcp_servers\.agent-relay\]/,
    )
    expect(stdout).toContain(`Make sure the relay daemon is running: ${relayCommand()} daemon start\n`)
    expect(home.read('.codex/config.toml')).toBe('a = 1\nb = [\n')
    const again = await home.run(['install', '-e', 'cursor'])
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ Cursor configured already') })
    expect(again.stdout).toContain('Installation complete!')
  })

  it('says which editors there are when none is found', async () => {
    const { code, stdout } = await home.run(['install'])
    expect([code, stdout]).toEqual([
      1,
      `No supported editors detected.\nSupported editors: ${editors.map(({ name }) => name).join(', ')}\n\nSpecify manually with: ${word(bin)} install --editor <name>\n`,
    ])
  })

  it.each([[[]], [['--project']]])('says how all of it goes again: %j', async (scope) => {
    const { stdout } = await home.run(['install', '-e', 'cursor', ...scope])
    // In the words that a shell makes of it.
    const line = /^To undo: (.*)$/m.exec(stdout)?.[1]
    const words = spawnSync('sh', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
      .stdout.trim()
      .split('\n')
    const [, ...undo] = words
    expect((await home.run(undo)).stdout).toContain('✓ Cursor removed')
    expect([readdirSync(home.path), readdirSync(home.project)]).toEqual([[], []])
  })

  it('tells a program why nothing was tried', async () => {
    expect(await home.report('install')).toMatchObject({ exit: 1, why: 'No supported editors detected.' })
    const keyed = await home.report('install', '-e', 'cursor', '--workspace', 'rk_unknown')
    expect(keyed).toMatchObject({ exit: 1, editors: [], why: expect.stringContaining('No workspace of yours') })
  })

  it('names no line of a valid file that has no place for the entry', async () => {
    const inline = 'mcp_servers = { a = { command = "x" } }\n'
    home.write('.codex/config.toml', inline)
    const { code, stdout } = await home.run(['install', '-e', 'codex'])
    expect([code, stdout]).toEqual([
      78,
      expect.stringContaining('the entry cannot be added without changing something else. Nothing was changed.'),
    ])
    expect(home.read('.codex/config.toml')).toBe(inline)
  })

  it('goes on after an editor that it does not know', async () => {
    const { code, stdout } = await home.run(['install', '-e', 'emacs,cursor'])
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Unknown editor: emacs\nSupported editors: claude, .*cursor.*\n[\s\S]*✓ Cursor configured/m)
    expect((await home.run(['install', '-e', 'emacs'])).stdout).toContain('Nothing was installed.')
  })

  it('shows help for no command, and the two lines for an unknown one', async () => {
    const [none, word, help, unknown, option] = await Promise.all([
      home.run([]),
      home.run(['help']),
      home.run(['install', '--help']),
      home.run(['instal']),
      home.run(['install', '--nope']),
    ])
    expect(none).toMatchObject({ code: 0, stdout: help.stdout })
    expect(word).toEqual(none)
    expect(unknown).toEqual({ code: 1, stdout: '', stderr: 'Unknown command: instal\nRun with --help for usage\n' })
    expect(option).toMatchObject({ code: 1, stderr: expect.stringContaining('Run with --help for usage') })
  })

  it('shows a diff in a dry run and changes nothing', async () => {
    home.write('.cursor/mcp.json', '{\n  "mcpServers": {}\n}\n')
    const { code, stdout } = await home.run(['install', '-e', 'cursor', '--dry-run'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^--- .*\n\+\+\+ .*\n@@ -1,3 \+1,10 @@\n {\n- {2}"mcpServers": \{\}\n\+ {2}"mcpServers": \{\n\+ {4}"agent-relay"/m,
    )
    expect(home.read('.cursor/mcp.json')).toBe('{\n  "mcpServers": {}\n}\n')
    expect(existsSync(join(home.root, 'data'))).toBe(false)
  })

  it('refuses --global together with --project', async () => {
    expect(await home.run(['install', '-g', '--project'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not both'),
    })
  })
})

describe('--workspace', () => {
  const bound = ['serve', '--project', 'frontend', '--tools', 'relay,workspace']
  const argsIn = (text: string) => JSON.parse(text).mcpServers['agent-relay'].args
  const keepKeys = () => {
    mkdirSync(join(home.root, 'data'))
    const workspaces = { w_1: { name: 'frontend', key: 'rk_secret' } }
    writeFileSync(join(home.root, 'data', 'credentials.json'), JSON.stringify({ workspaces }))
  }

  it('names the workspace of the key, and writes the key nowhere', async () => {
    keepKeys()
    await home.run(['install', '-e', 'cursor', '--project', '--workspace', 'rk_secret'])
    const text = readFileSync(join(home.project, '.cursor/mcp.json'), 'utf8')
    expect(argsIn(text)).toEqual(bound)
    expect(text).not.toContain('rk_secret')
    const other = await home.run(['install', '-e', 'cursor', '--workspace', 'rk_other'])
    expect(other).toMatchObject({ code: 1, stdout: expect.stringContaining('No workspace of yours has this key') })
    expect(readdirSync(home.path)).toEqual([])
  })

  it.each(['', ' ', '$RELAY_WORKSPACE_KEY'])(
    'is refused where it says nothing (%j), and what was bound stays',
    async (key) => {
      keepKeys()
      await home.run(['install', '-e', 'cursor', '--workspace', 'rk_secret'])
      const again = await home.run(['install', '-e', 'cursor', '--workspace', key])
      expect([again.code, again.stdout]).toEqual([
        2,
        'Which workspace? Give its key: --workspace KEY. Nothing was changed.\n',
      ])
      expect(argsIn(home.read('.cursor/mcp.json'))).toEqual(bound)
    },
  )

  it('is kept by a later install, of an entry of ours as it was written, until it is uninstalled', async () => {
    keepKeys()
    await home.run(['install', '-e', 'cursor', '--workspace', 'rk_secret'])
    await home.run(['install', '-e', 'cursor,windsurf'])
    expect(argsIn(home.read('.cursor/mcp.json'))).toEqual(bound)
    expect(argsIn(home.read('.codeium/windsurf/mcp_config.json'))).toEqual(['serve'])
    for (const [args, kept] of [
      [bound.slice(0, 3), bound.slice(0, 3)],
      [['serve', '--project', '../x'], ['serve']],
      [['serve', '--project', 'frontend', '--tools', '$(x)'], bound.slice(0, 3)],
      [['hook', '--project', 'frontend'], ['serve']],
      [
        ['serve', '--start', '--project', 'frontend'],
        ['serve', '--start', '--project', 'frontend'],
      ],
      [['serve', '--project', 'frontend', '--start'], bound.slice(0, 3)],
    ] as const) {
      const entry = { command: home.launcher, args }
      home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { 'agent-relay': entry } }))
      await home.run(['install', '-e', 'cursor'])
      expect(argsIn(home.read('.cursor/mcp.json'))).toEqual(kept)
    }
    await home.run(['uninstall', '-e', 'cursor'])
    await home.run(['install', '-e', 'cursor'])
    expect(argsIn(home.read('.cursor/mcp.json'))).toEqual(['serve'])
  })
})

describe('--start', () => {
  it('is kept with what an entry is bound to, until it is uninstalled, and the last lines say what is then true', async () => {
    const args = () => JSON.parse(home.read('.cursor/mcp.json')).mcpServers['agent-relay'].args
    const plain = `Make sure the relay daemon is running: ${relayCommand()} daemon start\n`
    const started = 'A session starts the relay daemon if none runs. It ends ten minutes after the last session.\n'
    const { stdout } = await home.run(['install', '-e', 'cursor', '--start'])
    expect(args()).toEqual(['serve', '--start'])
    expect([stdout.includes(started), stdout.includes(plain)]).toEqual([true, false])
    const both = await home.run(['install', '-e', 'cursor,windsurf'])
    expect([both.stdout.includes(started), both.stdout.includes(plain)]).toEqual([false, true])
    expect(args()).toEqual(['serve', '--start'])
    mkdirSync(join(home.root, 'data'), { recursive: true })
    const workspaces = { w_1: { name: 'frontend', key: 'rk_secret' } }
    writeFileSync(join(home.root, 'data', 'credentials.json'), JSON.stringify({ workspaces }))
    await home.run(['install', '-e', 'cursor', '--workspace', 'rk_secret'])
    expect(args()).toEqual(['serve', '--start', '--project', 'frontend', '--tools', 'relay,workspace'])
    await home.run(['uninstall', '-e', 'cursor'])
    await home.run(['install', '-e', 'cursor'])
    expect(args()).toEqual(['serve'])
  })
})

describe('hooks', () => {
  const hooked = () =>
    ['.claude/settings.json', '.codex/hooks.json', '.gemini/settings.json', '.copilot/hooks/agent-relay.json'].filter(
      (file) => existsSync(join(home.path, file)),
    )

  it('come along where they cost nothing, and go again byte for byte', async () => {
    const settings = '{ // mine\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]},\n}\n'
    home.write('.claude/settings.json', settings)
    const { stdout } = await home.run(['install', '-e', 'claude,codex,gemini,copilot,cursor', '--yes'])
    expect(stdout).toContain('✓ Claude Code hooks configured (~/.claude/settings.json)')
    expect(hooked()).toEqual(['.claude/settings.json', '.gemini/settings.json', '.copilot/hooks/agent-relay.json'])
    expect(JSON.parse(home.read('.copilot/hooks/agent-relay.json')).hooks.agentStop).toEqual([
      {
        type: 'command',
        bash: `[ -x ${word(home.launcher)} ] || exit 0; exec ${word(home.launcher)} hook agentStop --cli copilot`,
        timeoutSec: 5,
      },
    ])
    expect(JSON.parse(home.read('.gemini/settings.json')).hooks.BeforeAgent).toMatchObject([
      { hooks: [{ name: 'agent-relay', type: 'command', timeout: 5000 }] },
    ])
    await home.run(['uninstall'])
    expect(home.read('.claude/settings.json')).toBe(settings)
    expect(readdirSync(home.path)).toEqual(['.claude'])
  })

  it('are a plugin for opencode, beside the plugins that are there', async () => {
    const settings = '{\n  "plugin": ["a-plugin"], // mine\n  "model": "x/y"\n}\n'
    home.write('.config/opencode/opencode.json', settings)
    await home.run(['install', '-e', 'opencode', '--hooks'])
    const plugin = join(home.root, 'data/bin/agent-relay-opencode.js')
    const named = /"plugin": \[([^\]]*)\]/.exec(home.read('.config/opencode/opencode.json'))?.[1]?.split(/,\s*/)
    expect(named?.map((each) => JSON.parse(each)).sort()).toEqual(['a-plugin', pathToFileURL(plugin).href])
    expect(spawnSync(process.execPath, ['--check', plugin], { encoding: 'utf8' })).toMatchObject({ status: 0 })
    await home.run(['uninstall'])
    expect(home.read('.config/opencode/opencode.json')).toBe(settings)
    await home.run(['install', '-e', 'opencode', '--no-hooks'])
    expect(home.read('.config/opencode/opencode.json')).not.toContain('file://')
  })

  it('stand in the plan of a dry run, with one diff for a file', async () => {
    home.write('.gemini/settings.json', '{\n  "theme": "x"\n}\n')
    const { stdout } = await home.run(['install', '-e', 'claude,gemini', '--dry-run', '--hooks'])
    expect(stdout).toContain(`exec ${word(home.launcher)} hook Stop --cli claude`)
    expect(stdout.match(/^\+\+\+ .*$/gm)?.map((line) => line.replace(/.*\/home/, ''))).toEqual([
      '/.claude.json',
      '/.claude/settings.json',
      '/.gemini/settings.json',
    ])
    // What it shows is what an installation makes of the file.
    const before = home.read('.gemini/settings.json')
    await home.run(['install', '-e', 'gemini', '--hooks'])
    const made = home.read('.gemini/settings.json')
    for (const line of made.split('\n').filter((each) => each !== '' && !before.includes(each)))
      expect(stdout).toContain(`+${line}`)
  })

  it('are not added where nobody can be asked, and those that are there are brought up to date', async () => {
    const { stdout } = await home.run(['install', '-e', 'claude,gemini'])
    expect(stdout).toMatch(
      /No hooks were added, since nobody could be asked: .* Claude Code or Gemini CLI .* --hooks\n/,
    )
    expect(existsSync(join(home.path, '.claude/settings.json'))).toBe(false)
    await home.run(['install', '-e', 'claude', '--hooks'])
    const whole = home.read('.claude/settings.json')
    home.write('.claude/settings.json', whole.replaceAll('asyncRewake', 'async'))
    const again = await home.run(['install', '-e', 'claude'])
    expect(again.stdout).not.toContain('No hooks were added')
    const hooksIn = (text: string) => Object.entries(JSON.parse(text).hooks).sort()
    expect(hooksIn(home.read('.claude/settings.json'))).toEqual(hooksIn(whole))
  })

  it('stay out with --no-hooks, of a project, and where the person says no', async () => {
    await home.run(['install', '-e', 'claude,gemini', '--no-hooks'])
    await home.run(['install', '-e', 'claude', '--project'])
    expect([existsSync(join(home.path, '.claude')), existsSync(join(home.project, '.claude'))]).toEqual([false, false])
    expect(JSON.parse(home.read('.gemini/settings.json'))).not.toHaveProperty('hooks')
    const env = { HOME: home.path, RELAY_DATA_DIR: join(home.root, 'data') }
    const asked: [string, boolean | undefined][] = []
    const answer = (isYes: boolean) =>
      runInstall({
        ...{ editor: 'claude,cursor', env, say: () => {} },
        confirm: async (question, ifNobody) => {
          asked.push([question, ifNobody])
          return isYes
        },
      })
    await answer(false)
    expect(hooked()).toEqual(['.gemini/settings.json'])
    await answer(true)
    expect(hooked()).toEqual(['.claude/settings.json', '.gemini/settings.json'])
    expect(asked).toEqual(
      Array(2).fill([
        expect.stringMatching(
          /^Claude Code: also install hooks\?\n- Messages .*\n.* waiter .*\n.* permission questions .*\n- Before an edit: .* 5 s/,
        ),
        true,
      ]),
    )
  })

  it('are harmless when ours is gone', async () => {
    await home.run(['install', '-e', 'claude', '--hooks'])
    const { command } = JSON.parse(home.read('.claude/settings.json')).hooks.Stop[0].hooks[0]
    rmSync(join(home.root, 'data'), { recursive: true })
    expect(spawnSync('sh', ['-c', command], { encoding: 'utf8' })).toMatchObject({ status: 0, stdout: '', stderr: '' })
  })
})

describe('--hooks', () => {
  it('adds them beside the hooks that are there, once, and uninstall takes them out', async () => {
    const settings = '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]\n  }\n}\n'
    home.write('.claude/settings.json', settings)
    const names = 'claude,codex,gemini,cursor'
    await home.run(['install', '-e', names, '--hooks'])
    const claude = JSON.parse(home.read('.claude/settings.json')).hooks
    const events = ['PermissionRequest', 'PreToolUse', 'SessionStart', 'Stop', 'UserPromptSubmit']
    expect(Object.keys(claude).sort()).toEqual(events)
    expect(claude.PreToolUse[0].matcher).toBe('Write|Edit|MultiEdit|NotebookEdit|Bash')
    expect(claude.Stop).toHaveLength(2)
    expect(claude.Stop[0].hooks).toEqual([
      {
        type: 'command',
        command: `[ -x ${word(home.launcher)} ] || exit 0; exec ${word(home.launcher)} hook Stop --cli claude`,
        timeout: 5,
      },
      {
        type: 'command',
        command: `[ -x ${word(home.launcher)} ] || exit 0; exec ${word(home.launcher)} hook wait --cli claude Stop`,
        asyncRewake: true,
        timeout: 24 * 24 * 60 * 60,
      },
    ])
    // A session that was woken has its next waiter from the prompt on: its turn may be broken off.
    for (const event of ['SessionStart', 'UserPromptSubmit'])
      expect(claude[event][0].hooks).toMatchObject([
        { command: expect.stringContaining(` hook ${event} --cli claude`) },
        { command: expect.stringContaining(` hook wait --cli claude ${event}`), asyncRewake: true },
      ])
    expect(Object.keys(JSON.parse(home.read('.codex/hooks.json')).hooks).sort()).toEqual([
      'PreToolUse',
      'SessionStart',
      'Stop',
      'UserPromptSubmit',
    ])
    expect(Object.keys(JSON.parse(home.read('.gemini/settings.json'))).sort()).toEqual(['hooks', 'mcpServers'])
    const again = await home.report('install', '-e', names, '--hooks')
    expect(new Set(again.editors.map(({ status }) => status))).toEqual(new Set(['unchanged']))
    await home.run(['uninstall'])
    expect(home.read('.claude/settings.json')).toBe(settings)
    expect(readdirSync(home.path)).toEqual(['.claude'])
  })
})
