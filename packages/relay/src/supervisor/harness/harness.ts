// The contract of a harness: everything that differs from one agent CLI to the next. One file per CLI implements it; the supervisor uses it.

import { cliOf, type NameWith } from '@agent-relay/sdk/internal/clis'
import type { OwnDoor } from '../own-door.ts'

export interface Harness {
  readonly name: string
  /** Looked up on PATH; undefined for `plain`, whose command is the user's. */
  readonly program: string | undefined
  /** The command that installs it, shown when it is missing. */
  readonly install: string
  /** False: ready means a quiet screen, and answers go by `agent-relay send`. */
  readonly hasMcp: boolean
  /** Do the user's arguments carry MCP configuration already? Then nothing is injected. */
  bringsOwnMcp(args: readonly string[]): boolean
  /** How it is started with the relay in it. Pure: what to run, with which arguments, files and environment. */
  launch(context: LaunchContext): Launch
  /** What the bottom of the screen and the title tell; undefined: no sign (quiet time decides). */
  read(screen: ScreenText): Sign | undefined
  /** Between a paste and Enter. Both are for an idle prompt alone: a busy Codex is interrupted by Enter. */
  readonly typing: { enterDelayMs: number }
  /** Polite exit, such as two Ctrl-C. */
  readonly exitKeys: readonly string[]
  /** `mcp__agent-relay__`, as the model sees relay_send. */
  readonly toolPrefix: string
  /** Its hooks take messages by themselves; while it is idle, messages that are still there after this time are typed. */
  readonly hookGraceMs?: number
  /** Its own door is HTTP, on a port that is found for it. */
  readonly needsPort?: true
  /** The CLI's own door for messages and for what it asks, where one was verified; else keystrokes and its screen. */
  ownDoor?(context: LaunchContext): OwnDoor | undefined
  /** It speaks ACP, which is used unless somebody wants its terminal. */
  readonly acp?: AcpHarness
  /** The relay cannot type into it. */
  readonly isAcpOnly?: true
}

export interface AcpHarness {
  launch(context: LaunchContext): Launch
  /** How it takes our MCP server. By the rules of ACP every agent takes `stdio`; Copilot refuses it. */
  readonly mcp: 'stdio' | 'http'
  /**
   * Whether a permission that it asks for is for one of our own tools, so that nobody has to be asked. Told by what the program itself writes
   * there: a model may choose the words of a command.
   */
  isOwnTool(call: AskedTool): boolean
  /** The tokens that it tells with a turn are those of the whole conversation. */
  readonly countsConversation?: true
}

/** As ACP's `session/new` takes one. */
export type McpServer =
  | { name: string; command: string; args: string[]; env: Variable[] }
  | { type: 'http'; name: string; url: string; headers: Variable[] }
interface Variable {
  name: string
  value: string
}

/** The tool for which an ACP agent asks permission, as far as it says. */
export interface AskedTool {
  id: string
  title: string
  kind: string
}

export type Sign = 'busy' | 'idle' | 'blocked'

/** What a person sees of a terminal. */
export interface ScreenText {
  title: string
  lines: readonly string[]
}

export interface Program {
  command: string
  args: readonly string[]
}

export interface LaunchContext {
  /** Private to this worker (0700), and removed with it. */
  directory: string
  /** How our stdio MCP server is started: absolute Node, `agent-relay-mcp`, `serve`. */
  server: Program
  /** How `agent-relay-mcp hook` is started; the event follows. */
  hook: Program
  /** RELAY_SOCKET (or RELAY_BASE_URL), RELAY_AGENT_NAME, RELAY_AGENT_TOKEN …: goes into the child's environment, never into an argument. */
  identity: Readonly<Record<string, string>>
  model?: string
  args: readonly string[]
  cwd: string
  /** The allowed part of the owner's environment, to merge with (OPENCODE_CONFIG_CONTENT). */
  env: Readonly<Record<string, string | undefined>>
  /** A free port on loopback, for a CLI whose own door is HTTP. */
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
  /** A server of the CLI that runs beside the program and has its own door. `clientArgs`: those of the program where that server is there. */
  beside?: { args: string[]; socket: string; clientArgs: string[] }
}

export { serverName } from '@agent-relay/sdk/internal/clis'

/** What the table of CLIs says about one. */
export function known(name: NameWith<'worker'>): Pick<Harness, 'name' | 'program' | 'hasMcp' | 'toolPrefix'> {
  const cli = cliOf(name)
  return {
    name,
    program: cli.program,
    hasMcp: cli.worker === 'mcp',
    toolPrefix: 'toolPrefix' in cli ? cli.toolPrefix : '',
  }
}

/** The variables that an entry made once must pass on, whichever way a later worker reaches the daemon. */
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

export function readSigns(signs: Signs, { title, lines }: ScreenText): Sign | undefined {
  const written = lines.map((line) => line.trimEnd()).filter((line) => line !== '')
  // An empty screen: the program has not drawn itself yet, and what is typed now may be lost.
  if (written.length === 0) return 'busy'
  const shows = ({ title: inTitle, line: inLine, lines: high = 2 }: Look) =>
    inTitle?.test(title) || (inLine !== undefined && written.slice(-high).some((line) => inLine.test(line)))
  return (['blocked', 'busy', 'idle'] as const).find((sign) => shows(signs[sign]))
}

/** `--flag`, `--flag=value`. */
export function hasFlag(args: readonly string[], flag: string): boolean {
  return args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
}
