// The table of agent CLIs and editors that Agent Relay knows. Every other list of their names is a filter on a column of this table, so a new CLI needs one row
// here. How to start a CLI is in relay/src/supervisor/harness, where its settings are is in mcp/src/install. No imports: help texts, the MCP stdio pipe and the
// page load this file.

interface Cli {
  /** The name that `--cli` and `--editor` take. */
  readonly name: string
  /** The name that people are shown. */
  readonly title: string
  /** The CLI's command on PATH. */
  readonly program?: string
  /**
   * Set if `mcp install` can add our server to the CLI's settings. Unset for aider, which has no MCP servers, and for goose, whose settings are YAML, which we
   * do not edit.
   */
  readonly editor?: true
  /**
   * How the CLI runs as a worker: with our MCP tools (`mcp`), or without tools, so that the daemon types into its terminal (`typed`). Unset if it cannot be a
   * worker.
   */
  readonly worker?: 'mcp' | 'typed'
  /** Set if the CLI can carry out a run (a contract). `npm run test:real` tests that with the real CLI; it is not tested for the other CLIs. */
  readonly run?: true
  /** The prefix that the CLI puts before the names of our tools for its model. */
  readonly toolPrefix?: string
  /** How the CLI takes the output of our hooks. Unset if we install no hooks for the CLI. */
  readonly hooks?: HookForm
  /**
   * Set if one server process of the CLI runs many conversations, with their MCP servers and hooks: the process alone then does not tell which conversation is
   * meant.
   */
  readonly sharesServer?: true
}

export interface HookForm {
  /** Whether the CLI puts the output of a hook into tags of its own, so that we need not add tags. */
  readonly isBare: boolean
  /** Whether the text for the model is at the top level of a hook's JSON output. Otherwise it is inside `hookSpecificOutput`. */
  readonly isFlat: boolean
  /** Set if a plugin of ours in the CLI runs the hooks, and passes their output on through the CLI's own HTTP interface. */
  readonly isPlugin?: true
  /** Set if the CLI runs the hooks of a session whose context was just cleared, but ignores their output. */
  readonly dropsCleared?: true
}

/** The name of our MCP server in the settings of every CLI. */
export const mcpServerName = 'agent-relay'

/** The timeout of our hooks, in seconds, after which the CLI ends them. The model's turn waits for a hook, so a busy daemon must not hold it up. */
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
    toolPrefix: `mcp__${mcpServerName}__`,
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
    toolPrefix: `mcp_${mcpServerName}_`,
    hooks: { isBare: true, isFlat: false, dropsCleared: true },
  },
  {
    name: 'droid',
    title: 'Droid',
    program: 'droid',
    editor: true,
    worker: 'mcp',
    toolPrefix: `${mcpServerName}___`,
  },
  {
    name: 'opencode',
    title: 'opencode',
    program: 'opencode',
    editor: true,
    worker: 'mcp',
    run: true,
    toolPrefix: `${mcpServerName}_`,
    hooks: { isBare: false, isFlat: false, isPlugin: true },
  },
  {
    name: 'copilot',
    title: 'Copilot CLI',
    program: 'copilot',
    editor: true,
    worker: 'mcp',
    toolPrefix: `${mcpServerName}-`,
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

/** The names of the CLIs that have a value in the column. As the keys of a table, they make the compiler report a missing row. */
export type CliNameWith<C extends Column> = RowWith<C>['name']

/** Returns the CLIs that have a value in the column. */
export function clisWith<C extends Column>(column: C): readonly RowWith<C>[] {
  return clis.filter((row): row is RowWith<C> => column in row)
}

/** The CLI to use if the caller names none. */
export const defaultCli = clis[0].name

export function cliOf<N extends CliName>(name: N): Extract<Row, { name: N }> {
  return clis.find((row) => row.name === name) as Extract<Row, { name: N }>
}

/** What can carry out a run: the built-in loop, a worker with one of these CLIs, or `external`, an agent that is connected already. */
export const runHarnesses = ['loop', ...clisWith('run').map(({ name }) => name), 'external'] as const

/** Joins names for a sentence: `a`, `a and b`, `a, b and c`; or with `or`. */
export function listText(names: readonly string[], before: 'and' | 'or' = 'and'): string {
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} ${before} ${names.at(-1)}`
}
