// The editors and CLIs that the installer knows: the file, key and shape in which each keeps its MCP servers. Their names, titles and programs come
// from the table of CLIs in the SDK.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, posix, win32 } from 'node:path'
import { clisWith, type NameWith } from '@agent-relay/sdk/internal/clis'
import { type Env, setting, workingDirectory } from '@agent-relay/sdk/internal/discover'
import type { Server } from '../launcher/index.ts'

export type EditorName = NameWith<'editor'>

/** The machine as the installer sees it. */
export interface InstallContext {
  home: string
  env: Env
  platform: NodeJS.Platform
  /** The directory in which `--project` writes. */
  project: string
  exists(path: string): boolean
}

export function installContext(env: Env, cwd = workingDirectory() ?? '/'): InstallContext {
  const home = setting(env, process.platform === 'win32' ? 'USERPROFILE' : 'HOME') ?? homedir()
  return { home, env, platform: process.platform, project: cwd, exists: existsSync }
}

type Path = (around: InstallContext) => string

interface EditorRule {
  /** The keys of the containers around the entry. */
  readonly keyPath: readonly string[]
  readonly userFile: Path
  /** The project's file; undefined for an editor that reads no servers from a project. */
  readonly projectFile?: Path
  /** Signs of the editor: one of these paths exists if it is installed. */
  readonly signs: readonly Path[]
  entry(server: Server): unknown
  /** The entry for a lift in `projectFile`: one server by its address, which every session there shares. */
  liftEntry?(url: string): object
  /** The user's remaining steps, in user scope or in a project. */
  note?(isProject: boolean): string | undefined
}

export interface Editor extends EditorRule {
  /** The name for `--editor`. */
  readonly name: EditorName
  readonly title: string
  readonly program?: string
}

export function joined(around: InstallContext, ...parts: string[]): string {
  return (around.platform === 'win32' ? win32 : posix).join(...parts)
}

const inHome =
  (...parts: string[]): Path =>
  (around) =>
    joined(around, around.home, ...parts)
const inProject =
  (...parts: string[]): Path =>
  (around) =>
    joined(around, around.project, ...parts)

/** The path of a file in a directory of the home that a variable may move. */
export const inHomeBy =
  (variable: string, folder: string, ...parts: string[]): Path =>
  (around) =>
    joined(around, setting(around.env, variable) ?? joined(around, around.home, folder), ...parts)

/** The path of a file of Gemini CLI: GEMINI_CLI_HOME replaces the home itself. */
export const inGeminiHome =
  (...parts: string[]): Path =>
  (around) =>
    joined(around, setting(around.env, 'GEMINI_CLI_HOME') ?? around.home, '.gemini', ...parts)

const configHome: Path = (around) => {
  const given = setting(around.env, 'XDG_CONFIG_HOME')
  return given?.startsWith('/') ? given : joined(around, around.home, '.config')
}

/** The directory of desktop programs' settings. */
const inAppData =
  (...parts: string[]): Path =>
  (around) => {
    const { platform, home, env } = around
    if (platform === 'darwin') return joined(around, home, 'Library', 'Application Support', ...parts)
    if (platform === 'win32')
      return joined(around, setting(env, 'APPDATA') ?? joined(around, home, 'AppData', 'Roaming'), ...parts)
    return joined(around, configHome(around), ...parts)
  }

const zedFolder: Path = (around) => {
  if (around.platform === 'win32') return inAppData('Zed')(around)
  return joined(around, around.platform === 'darwin' ? inHome('.config')(around) : configHome(around), 'zed')
}

const opencodeFolder: Path = (around) => joined(around, configHome(around), 'opencode')

/** The settings file of opencode, which merges several files: the one that exists gets the entry. */
const opencodeFile =
  (folder: Path): Path =>
  (around) => {
    const [jsonc, json] = ['opencode.jsonc', 'opencode.json'].map((name) => joined(around, folder(around), name))
    return [jsonc, json].find((file) => around.exists(file as string)) ?? (json as string)
  }

/** Codex starts servers with an empty environment, so the entry must name the variables for agent and workspace. */
const codexVariables = [
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  'RELAY_PROJECT',
  'RELAY_SOCKET',
  'RELAY_DATA_DIR',
  'RELAY_BASE_URL',
  'XDG_DATA_HOME',
]

const plainEntry = ({ command, args }: Server) => ({ command, args })
/** The entry of a lift over SSE, which lifts offer first. A host without SSE, or whose entry has no type, gets the newer route. */
const bySse = (url: string) => ({ type: 'sse', url: `${url}/sse` })
const byHttp = (url: string) => ({ url: `${url}/mcp` })

const rules: Record<EditorName, EditorRule> = {
  claude: {
    keyPath: ['mcpServers'],
    // settings.json holds no servers, so this is .claude.json.
    userFile: (around) => joined(around, setting(around.env, 'CLAUDE_CONFIG_DIR') ?? around.home, '.claude.json'),
    projectFile: inProject('.mcp.json'),
    signs: [inHomeBy('CLAUDE_CONFIG_DIR', '.claude'), inHome('.claude.json')],
    // Without alwaysLoad the model sees the tools only after it has searched for them.
    entry: ({ command, args }) => ({ type: 'stdio', command, args, alwaysLoad: true }),
    liftEntry: bySse,
    note: (isProject) => (isProject ? 'Claude Code asks once in the project whether to use the server.' : undefined),
  },
  // Claude Desktop has no project files. On Linux there is no official build; unofficial ones use the usual place.
  'claude-desktop': {
    keyPath: ['mcpServers'],
    userFile: inAppData('Claude', 'claude_desktop_config.json'),
    signs: [inAppData('Claude')],
    entry: plainEntry,
    note: () => 'Quit Claude Desktop and start it again.',
  },
  cursor: {
    keyPath: ['mcpServers'],
    userFile: inHome('.cursor', 'mcp.json'),
    projectFile: inProject('.cursor', 'mcp.json'),
    signs: [inHome('.cursor')],
    entry: plainEntry,
    liftEntry: byHttp,
  },
  // VS Code reads the mcp.json of its profile, and nothing under `mcpServers` in ~/.vscode.
  vscode: {
    keyPath: ['servers'],
    userFile: inAppData('Code', 'User', 'mcp.json'),
    projectFile: inProject('.vscode', 'mcp.json'),
    signs: [inAppData('Code')],
    entry: ({ command, args }) => ({ type: 'stdio', command, args }),
    liftEntry: bySse,
  },
  windsurf: {
    keyPath: ['mcpServers'],
    userFile: inHome('.codeium', 'windsurf', 'mcp_config.json'),
    signs: [inHome('.codeium', 'windsurf')],
    entry: plainEntry,
  },
  // Zed's servers stand among the user's settings, which have comments. Whether a project may have its own is not confirmed.
  zed: {
    keyPath: ['context_servers'],
    userFile: (around) => joined(around, zedFolder(around), 'settings.json'),
    signs: [zedFolder],
    entry: ({ command, args }) => ({ command, args, env: {} }),
  },
  codex: {
    keyPath: ['mcp_servers'],
    userFile: inHomeBy('CODEX_HOME', '.codex', 'config.toml'),
    projectFile: inProject('.codex', 'config.toml'),
    signs: [inHomeBy('CODEX_HOME', '.codex')],
    entry: ({ command, args }) => ({ command, args, env_vars: codexVariables }),
    liftEntry: byHttp,
    note: (isProject) => (isProject ? 'Codex reads it once you have trusted the project.' : undefined),
  },
  // Gemini CLI hides variables that look like secrets from servers unless the entry names them, and fills in `$NAME` when it starts one.
  gemini: {
    keyPath: ['mcpServers'],
    userFile: inGeminiHome('settings.json'),
    projectFile: inProject('.gemini', 'settings.json'),
    signs: [inGeminiHome()],
    entry: ({ command, args }) => ({
      command,
      args,
      env: { RELAY_AGENT_NAME: '$RELAY_AGENT_NAME', RELAY_AGENT_TOKEN: '$RELAY_AGENT_TOKEN' },
    }),
    liftEntry: bySse,
    note: (isProject) => (isProject ? 'Gemini CLI reads it once you have trusted the folder.' : undefined),
  },
  // The row for droid is written from its documentation alone: no copy could be run.
  droid: {
    keyPath: ['mcpServers'],
    userFile: inHome('.factory', 'mcp.json'),
    projectFile: inProject('.factory', 'mcp.json'),
    signs: [inHome('.factory')],
    entry: ({ command, args }) => ({
      type: 'stdio',
      command,
      args,
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: droid fills these in.
      env: { RELAY_AGENT_NAME: '${RELAY_AGENT_NAME:-}', RELAY_AGENT_TOKEN: '${RELAY_AGENT_TOKEN:-}' },
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: droid fills these in.
    }),
    liftEntry: bySse,
  },
  opencode: {
    keyPath: ['mcp'],
    userFile: opencodeFile(opencodeFolder),
    projectFile: opencodeFile(inProject()),
    signs: [opencodeFolder],
    entry: ({ command, args }) => ({ type: 'local', command: [command, ...args], enabled: true }),
    liftEntry: (url) => ({ type: 'remote', url: `${url}/mcp`, enabled: true }),
  },
  // Copilot offers no tools of an entry without `tools`. A project's .mcp.json belongs to Claude Code as well, so our entry goes into .github.
  copilot: {
    keyPath: ['mcpServers'],
    userFile: inHome('.copilot', 'mcp-config.json'),
    projectFile: inProject('.github', 'mcp.json'),
    signs: [inHome('.copilot')],
    entry: ({ command, args }) => ({ type: 'local', command, args, tools: ['*'] }),
    liftEntry: (url) => ({ ...bySse(url), tools: ['*'] }),
  },
  // Qwen Code does not fill in variables, so the entry names none: the server inherits them.
  qwen: {
    keyPath: ['mcpServers'],
    userFile: inHome('.qwen', 'settings.json'),
    projectFile: inProject('.qwen', 'settings.json'),
    signs: [inHome('.qwen')],
    entry: plainEntry,
    // Without a type, `url` means SSE here.
    liftEntry: (url) => ({ url: `${url}/sse` }),
  },
}

export const editors: readonly Editor[] = clisWith('editor').map((cli) => ({
  name: cli.name,
  title: cli.title,
  program: 'program' in cli ? cli.program : undefined,
  ...rules[cli.name],
}))

export function detected(around: InstallContext): Editor[] {
  return editors.filter(
    (editor) => editor.signs.some((sign) => around.exists(sign(around))) || programPath(editor, around) !== undefined,
  )
}

export function programPath({ program }: Editor, { env, exists, platform }: InstallContext): string | undefined {
  if (program === undefined) return undefined
  const names = platform === 'win32' ? [`${program}.cmd`, `${program}.exe`] : [program]
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(exists)
}
