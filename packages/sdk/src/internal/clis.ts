// The agent CLIs and editors that Agent Relay knows, each once. Every list of their names is a filter on a column of this table, so a new CLI is a row here.
// Starting a CLI is in relay/src/supervisor/harness, the place of its settings in mcp/src/install. No imports: help texts, the pipe and the page load this
// file.

interface Cli {
  /** The name that `--cli` and `--editor` take. */
  readonly name: string
  /** The name that people use. */
  readonly title: string
  /** The CLI's command on PATH. */
  readonly program?: string
  /** `mcp install` adds our server to the CLI's settings. The others have no MCP servers (aider), or keep them in YAML, which we do not edit (goose). */
  readonly editor?: true
  /** The CLI can be started as a worker: with our MCP tools (`mcp`), or as a plain terminal program that is typed into (`typed`). */
  readonly worker?: 'mcp' | 'typed'
  /** The CLI can carry out a run: `npm run test:real` runs contracts with the real CLI. Nobody has tried the other workers. */
  readonly run?: true
  /** The prefix of our tools' names, as the CLI's model sees them. */
  readonly toolPrefix?: string
  /** The CLI runs hooks at the boundaries of a turn. */
  readonly hooks?: HookForm
  /** One server of the CLI runs many conversations, with their MCP servers and hooks: its process alone does not tell whose they are. */
  readonly sharesServer?: true
}

export interface HookForm {
  /** The CLI puts what a hook prints into tags of its own, so the text needs none of ours. */
  readonly isBare: boolean
  /** The context that a hook adds is a key of its answer, and not in an object for the event. */
  readonly isFlat: boolean
  /** A plugin of ours runs the hooks and passes on what they print, through the CLI's own HTTP interface. */
  readonly isPlugin?: true
  /** The CLI runs the hooks of a session that was cleared, and drops their output. */
  readonly dropsCleared?: true
}

/** The name of our MCP server in the settings of every CLI. */
export const serverName = 'agent-relay'

/** The time that our hooks may take. A turn waits for them: they must not hold it up while the daemon is busy. */
export const hookTimeoutSeconds = 5

/** The table of CLIs, in the order in which people are shown them. */
export const clis = [
  {
    name: 'claude',
    title: 'Claude Code',
    program: 'claude',
    editor: true,
    worker: 'mcp',
    run: true,
    toolPrefix: `mcp__${serverName}__`,
    hooks: { isBare: true, isFlat: false },
  },
  { name: 'claude-desktop', title: 'Claude Desktop', editor: true },
  { name: 'cursor', title: 'Cursor', program: 'cursor', editor: true },
  { name: 'vscode', title: 'VS Code', program: 'code', editor: true },
  { name: 'windsurf', title: 'Windsurf', program: 'windsurf', editor: true },
  { name: 'zed', title: 'Zed', program: 'zed', editor: true },
  {
    name: 'codex',
    title: 'Codex',
    program: 'codex',
    editor: true,
    worker: 'mcp',
    run: true,
    toolPrefix: 'mcp__agent_relay__',
    hooks: { isBare: false, isFlat: false },
    sharesServer: true,
  },
  {
    name: 'gemini',
    title: 'Gemini CLI',
    program: 'gemini',
    editor: true,
    worker: 'mcp',
    run: true,
    toolPrefix: `mcp_${serverName}_`,
    hooks: { isBare: true, isFlat: false, dropsCleared: true },
  },
  {
    name: 'droid',
    title: 'Droid',
    program: 'droid',
    editor: true,
    worker: 'mcp',
    toolPrefix: `${serverName}___`,
  },
  {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    editor: true,
    worker: 'mcp',
    run: true,
    toolPrefix: `${serverName}_`,
    hooks: { isBare: false, isFlat: false, isPlugin: true },
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    program: 'copilot',
    editor: true,
    worker: 'mcp',
    toolPrefix: `${serverName}-`,
    hooks: { isBare: false, isFlat: true },
  },
  { name: 'qwen', title: 'Qwen Code', program: 'qwen', editor: true },
  { name: 'goose', title: 'Goose', program: 'goose', worker: 'typed' },
  { name: 'aider', title: 'Aider', program: 'aider', worker: 'typed' },
] as const satisfies readonly Cli[]

type Row = (typeof clis)[number]
type Column = 'editor' | 'worker' | 'run' | 'hooks' | 'sharesServer'
type RowWith<C extends Column> = Extract<Row, { readonly [K in C]: unknown }>

export type CliName = Row['name']

/** The names of the CLIs that have a column: a table by them is complete, or it does not compile. */
export type NameWith<C extends Column> = RowWith<C>['name']

/** The CLIs that have something in the column. */
export function clisWith<C extends Column>(column: C): readonly RowWith<C>[] {
  return clis.filter((row): row is RowWith<C> => column in row)
}

/** The CLI that is meant where nobody names one. */
export const defaultCli = clis[0].name

export function cliOf<N extends CliName>(name: N): Extract<Row, { name: N }> {
  return clis.find((row) => row.name === name) as Extract<Row, { name: N }>
}

/** Everything that can carry out a run: the built-in loop, a worker with a CLI, or an agent outside of both. */
export const runHarnesses = ['loop', ...clisWith('run').map(({ name }) => name), 'external'] as const

/** A list for texts: `a`, `a and b`, `a, b and c`; or with `or`. */
export function listText(names: readonly string[], before: 'and' | 'or' = 'and'): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} ${before} ${names.at(-1)}`
}
