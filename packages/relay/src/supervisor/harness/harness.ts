// The contract of a harness: all that differs from one agent CLI to the next. One file per CLI implements it; who runs what it says is the supervisor.

export interface Harness {
  readonly name: string
  /** Looked up on PATH; undefined for `plain`, whose command is the user's. */
  readonly program: string | undefined
  /** The command that installs it, for the refusal when it is not there. */
  readonly install: string
  /** False: ready means a quiet screen, and answers go by `agent-relay send`. */
  readonly hasMcp: boolean
  /** User arguments that carry MCP configuration for this CLI already: then nothing is injected. */
  bringsOwnMcp(args: readonly string[]): boolean
  /** How it is started with the relay in it. Pure: what to run, with which arguments, files and environment. */
  launch(context: LaunchContext): Launch
  /** What the bottom of the screen and the title tell; undefined: no sign (quiet time decides). */
  read(view: View): Sign | undefined
  /** Between a paste and Enter. Both are for an idle prompt alone: a busy Codex is interrupted by Enter. */
  readonly typing: { enterDelayMs: number }
  /** Polite exit, such as two Ctrl-C. */
  readonly exitKeys: readonly string[]
  /** `mcp__agent-relay__`, as the model sees relay_send. */
  readonly toolPrefix: string
  /** Its hooks take messages from the inbox by themselves: keystrokes are for what is still untaken after this, while it is idle. */
  readonly hookGraceMs?: number
  /** The CLI's own door for messages, where one was verified; else keystrokes. */
  door?(context: LaunchContext): Door
}

export type Sign = 'busy' | 'idle' | 'blocked'

export interface View {
  title: string
  lines: readonly string[]
}

export interface LaunchContext {
  /** Private to this worker (0700), and removed with it. */
  directory: string
  /** How our stdio MCP server is started: absolute Node, `agent-relay-mcp`, `serve`. */
  server: { command: string; args: readonly string[] }
  /** How `agent-relay-mcp hook` is started; the event follows. */
  hook: { command: string; args: readonly string[] }
  /** RELAY_SOCKET (or RELAY_BASE_URL), RELAY_AGENT_NAME, RELAY_AGENT_TOKEN …: goes into the child's environment, never into an argument. */
  identity: Readonly<Record<string, string>>
  model?: string
  args: readonly string[]
  cwd: string
  /** The allowed part of the owner's environment, to merge with (OPENCODE_CONFIG_CONTENT). */
  env: Readonly<Record<string, string | undefined>>
  /** A free port on loopback, for a CLI whose door is HTTP. Without one it has no door. */
  port?: number
  isInjected: boolean
}

export interface Launch {
  args: string[]
  /** Added to the allowed environment and the identity. */
  env: Record<string, string>
  /** Written 0600 before the start. */
  files?: { path: string; text: string }[]
  /** Runs of the CLI itself before the start (`gemini mcp add`), once per installation. */
  before?: { args: string[] }[]
}

export interface Door {
  /** True: handed over. False: use keystrokes. */
  send(text: string): Promise<boolean>
}

/** The name of our server in every CLI's configuration. */
export const serverName = 'agent-relay'

/** All that an entry made once must pass on, whichever way to the daemon a later worker is given. */
export const identityNames = [
  'RELAY_SOCKET',
  'RELAY_BASE_URL',
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TYPE',
  'RELAY_STRICT_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  // The marker by which the sweep finds what a worker has started.
  'RELAY_WORKER',
] as const

/** For our server alone: it talks to nobody outside, and reading certificates would double its start. */
export const serverEnvironment = { NODE_EXTRA_CA_CERTS: '' } as const

export const ctrlC = '\x03'

/** One sign: in the title, or in one of the lowest lines that are not empty. Above them stands what was said, which proves nothing. */
interface Look {
  title?: RegExp
  line?: RegExp
  /** How far up `line` may stand. */
  lines?: number
}

/** What each sign looks like, in one table per CLI: texts and glyphs drift with versions. A dialog goes before everything. */
export type Signs = Record<Sign, Look>

export function readSigns(signs: Signs, { title, lines }: View): Sign | undefined {
  const written = lines.map((line) => line.trimEnd()).filter((line) => line !== '')
  // It has not drawn itself yet, however quiet it is: what is typed now may reach a terminal that nobody reads.
  if (written.length === 0) return 'busy'
  const shows = ({ title: inTitle, line: inLine, lines: high = 2 }: Look) =>
    inTitle?.test(title) || (inLine !== undefined && written.slice(-high).some((line) => inLine.test(line)))
  return (['blocked', 'busy', 'idle'] as const).find((sign) => shows(signs[sign]))
}

/** `--flag`, `--flag=value`. */
export function hasFlag(args: readonly string[], flag: string): boolean {
  return args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
}
