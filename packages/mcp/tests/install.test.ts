// `agent-relay-mcp install` and `uninstall` by the real launcher: what is said, what is written for each editor, and what goes again.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { detected, editors, surroundingsOf } from '../src/install/index.ts'
import { Home, launcher } from './install-world.ts'

let home: Home
beforeEach(() => {
  home = new Home()
})
afterEach(() => home.close())

const node = process.execPath
const plain = { command: node, args: [launcher, 'serve'] }
/** Each editor: its files for the user and for a project, its key, its entry. */
const golden: Record<string, [string, string | undefined, string, object]> = {
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
    { type: 'local', command: [node, launcher, 'serve'], enabled: true },
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
const codexBlock = `[mcp_servers.agent-relay]
command = ${JSON.stringify(node)}
args = [${JSON.stringify(launcher)}, "serve"]
env_vars = ["RELAY_AGENT_NAME", "RELAY_AGENT_TOKEN", "RELAY_PROJECT", "RELAY_SOCKET", "RELAY_DATA_DIR", "RELAY_BASE_URL", "XDG_DATA_HOME"]
`

describe.runIf(process.platform === 'linux')('what each editor gets', () => {
  it('is its own file, key and shape for the user, and all of it goes again', async () => {
    const { code } = await home.run(['install', '-e', 'all'])
    expect(code).toBe(0)
    for (const [name, [file, , key, entry]] of Object.entries(golden))
      expect(JSON.parse(home.read(file)), name).toEqual({ [key]: { 'agent-relay': entry } })
    expect(home.read('.codex/config.toml')).toBe(codexBlock)
    expect(Object.keys(golden).length + 1).toBe(editors.length)
    expect((await home.run(['uninstall'])).code).toBe(0)
    expect(readdirSync(home.path)).toEqual([])
  })

  it('is the same in a project, where the editor has project files', async () => {
    const { editors: outcomes, exit } = await home.report('install', '-e', 'all', '--project')
    expect(exit).toBe(1)
    for (const [name, [, file, key, entry]] of Object.entries(golden)) {
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
    expect(readFileSync(join(home.project, '.codex/config.toml'), 'utf8')).toBe(codexBlock)
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
    const around = { ...surroundingsOf({}), home: '/Users/kim', platform: 'darwin' as const, exists: () => false }
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
      detected({
        ...surroundingsOf({ PATH: '/bin' }),
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
    expect(stdout).toContain('Make sure the relay daemon is running: agent-relay daemon start\n')
    expect(home.read('.codex/config.toml')).toBe('a = 1\nb = [\n')
    const again = await home.run(['install', '-e', 'cursor'])
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('✓ Cursor configured already') })
    expect(again.stdout).toContain('Installation complete!')
  })

  it('says which editors there are when none is found', async () => {
    const { code, stdout } = await home.run(['install'])
    expect([code, stdout]).toEqual([
      1,
      `No supported editors detected.\nSupported editors: ${editors.map(({ name }) => name).join(', ')}\n\nSpecify manually with: npx @agent-relay/mcp install --editor <name>\n`,
    ])
  })

  it.each([[[]], [['--project']]])('says how all of it goes again: %j', async (scope) => {
    const { stdout } = await home.run(['install', '-e', 'cursor', ...scope])
    const undo = /^To undo: npx @agent-relay\/mcp (.*)$/m.exec(stdout)?.[1]?.split(' ') ?? []
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
      /^--- .*\n\+\+\+ .*\n@@ -1,3 \+1,11 @@\n {\n- {2}"mcpServers": \{\}\n\+ {2}"mcpServers": \{\n\+ {4}"agent-relay"/m,
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
  it('names the workspace of the key, and writes the key nowhere', async () => {
    mkdirSync(join(home.root, 'data'))
    const workspaces = { w_1: { name: 'frontend', key: 'rk_secret' } }
    writeFileSync(join(home.root, 'data', 'credentials.json'), JSON.stringify({ workspaces }))
    await home.run(['install', '-e', 'cursor', '--project', '--workspace', 'rk_secret'])
    const text = readFileSync(join(home.project, '.cursor/mcp.json'), 'utf8')
    expect(JSON.parse(text).mcpServers['agent-relay'].args).toEqual([launcher, 'serve', '--project', 'frontend'])
    expect(text).not.toContain('rk_secret')
    const other = await home.run(['install', '-e', 'cursor', '--workspace', 'rk_other'])
    expect(other).toMatchObject({ code: 1, stdout: expect.stringContaining('No workspace of yours has this key') })
    expect(readdirSync(home.path)).toEqual([])
  })
})

describe('--hooks', () => {
  it('adds them beside the hooks that are there, once, and uninstall takes them out', async () => {
    const settings = '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]\n  }\n}\n'
    home.write('.claude/settings.json', settings)
    const names = 'claude,codex,gemini,cursor'
    await home.run(['install', '-e', names, '--hooks'])
    const claude = JSON.parse(home.read('.claude/settings.json')).hooks
    expect(Object.keys(claude)).toEqual(['UserPromptSubmit', 'SessionStart', 'Stop'])
    expect(claude.Stop).toHaveLength(2)
    expect(claude.Stop[0].hooks).toEqual([
      { type: 'command', command: `${node} ${launcher} hook Stop --cli claude`, timeout: 5 },
    ])
    expect(Object.keys(JSON.parse(home.read('.codex/hooks.json')).hooks).sort()).toEqual([
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
