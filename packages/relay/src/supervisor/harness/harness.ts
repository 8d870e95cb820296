// The contract of a harness: everything that differs from one agent CLI to the next. One file per CLI implements it; the supervisor uses it.

import { cliOf, type NameWith } from '@agent-relay/sdk/internal/clis'
import type { CliServer } from '../cli-server.ts'

export interface Harness {
  readonly name: string
  /** The program to look up on PATH; undefined for `plain`, whose command the user gives. */
  readonly program: string | undefined
  /** The command that installs the program, shown when it is missing. */
  readonly install: string
  /** Variables of the daemon's environment that the program needs, such as the keys of its models and its home: a worker sees no others. */
  readonly variables?: readonly string[]
  /** Whether the program takes MCP servers. False: ready means a quiet screen, and answers go by `agent-relay send`. */
  readonly hasMcp: boolean
  /** Whether the user's arguments carry MCP configuration already; nothing is injected then. */
  bringsOwnMcp(args: readonly string[]): boolean
  /** The arguments, files and environment that start the program with the relay in it. Pure. */
  launch(context: LaunchContext): LaunchPlan
  /**
   * Whether a later program can go on with the conversation that one has in a terminal, started with these arguments. Unset: it never can. Over ACP the
   * program says so itself.
   */
  canContinue?(args: readonly string[]): boolean
  /** The ids of conversations, as the CLI's own server reports them. Unset: the program takes an id of our making. */
  readonly conversationIds?: RegExp
  /** The program's state by the bottom of the screen and the title; undefined: no sign (quiet time decides). */
  readScreenSign(screen: ScreenText): ScreenSign | undefined
  /** Delay between a paste and Enter. Both are only for an idle prompt: a busy Codex is interrupted by Enter. */
  readonly typing: { enterDelayMs: number }
  /** Keys that interrupt a turn in the program's terminal, such as Escape. Unset: none are known. */
  readonly interruptKeys?: readonly string[]
  /** Keys for a polite exit, such as two Ctrl-C. */
  readonly exitKeys: readonly string[]
  /** The prefix under which the model sees our tools, such as `mcp__agent-relay__`. */
  readonly toolPrefix: string
  /** The program's hooks take messages by themselves; messages that are still there after this idle time are typed. */
  readonly hookGraceMs?: number
  /** The CLI's own server is HTTP, on a free port that is chosen for it. */
  readonly needsPort?: true
  /** The CLI's own server for messages and questions, where one was verified; else keystrokes and the screen are used. */
  cliServer?(context: LaunchContext): CliServer | undefined
  /** The program over ACP, which comes first unless somebody wants its terminal. */
  readonly acp?: AcpHarness
  /** The program is used over ACP alone: the relay cannot type into it. */
  readonly isAcpOnly?: true
}

export interface AcpHarness {
  launch(context: LaunchContext): LaunchPlan
  /** The transport by which the agent takes our MCP server. By the rules of ACP every agent takes `stdio`; Copilot refuses it. */
  readonly mcp: 'stdio' | 'http'
  /**
   * Whether a permission request is for one of our own tools, so that nobody has to be asked. The check uses text that the program itself writes:
   * a model may choose the words of a command.
   */
  isOwnTool(call: PermissionTool): boolean
  /** The agent offers to open an earlier conversation again, but fails to. */
  readonly losesConversations?: true
  /** The tokens reported with a turn are those of the whole conversation. */
  readonly countsConversation?: true
}

/** An MCP server in the form of ACP's `session/new`. */
export type AcpMcpServer =
  | { name: string; command: string; args: string[]; env: Variable[] }
  | { type: 'http'; name: string; url: string; headers: Variable[] }
interface Variable {
  name: string
  value: string
}

/** The tool for which an ACP agent asks permission, as far as the agent says. */
export interface PermissionTool {
  id: string
  title: string
  kind: string
}

export type ScreenSign = 'busy' | 'idle' | 'blocked'

/** The visible part of a terminal. */
export interface ScreenText {
  title: string
  lines: readonly string[]
}

export interface ProgramCommand {
  command: string
  args: readonly string[]
}

export interface LaunchContext {
  /** Private to this worker (0700), and removed with it. */
  directory: string
  /** The command that starts our stdio MCP server: absolute Node, `agent-relay-mcp`, `serve`. */
  server: ProgramCommand
  /** The command that starts `agent-relay-mcp hook`; the event follows. */
  hook: ProgramCommand
  /** RELAY_SOCKET (or RELAY_BASE_URL), RELAY_AGENT_NAME, RELAY_AGENT_TOKEN …: goes into the child's environment, never into an argument. */
  identity: Readonly<Record<string, string>>
  model?: string
  args: readonly string[]
  cwd: string
  /** The allowed part of the owner's environment, to merge with (OPENCODE_CONFIG_CONTENT). */
  env: Readonly<Record<string, string | undefined>>
  /** A free port on loopback, for a CLI whose own server is HTTP. */
  port?: number
  /** The conversation to go on with; for a program that takes an id of our making, a UUID, also the one to begin. */
  conversation?: { id: string; isContinued: boolean }
  isInjected: boolean
}

export interface LaunchPlan {
  args: string[]
  /** Variables added to the allowed environment and the identity. */
  env: Record<string, string>
  /** Files that are written with mode 0600 before the program's start. */
  files?: { path: string; text: string }[]
  /** Runs of the CLI itself before the start (`gemini mcp add`), once per installation. */
  setupRuns?: { args: string[] }[]
  /** A server of the CLI that runs beside the program. `clientArgs`: the program's arguments where that server runs. */
  companion?: { args: string[]; socket: string; clientArgs: string[] }
}

export { serverName } from '@agent-relay/sdk/internal/clis'

/** Returns the harness fields that the table of CLIs contains. */
export function cliTableFields(name: NameWith<'worker'>): Pick<Harness, 'name' | 'program' | 'hasMcp' | 'toolPrefix'> {
  const cli = cliOf(name)
  return {
    name,
    program: cli.program,
    hasMcp: cli.worker === 'mcp',
    toolPrefix: 'toolPrefix' in cli ? cli.toolPrefix : '',
  }
}

/** Environment variables that a stored MCP entry must pass on, whichever way a later worker reaches the daemon. */
export const identityVariables = [
  'RELAY_SOCKET',
  'RELAY_BASE_URL',
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TYPE',
  'RELAY_STRICT_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  // The marker by which the sweep finds everything that a worker has started.
  'RELAY_WORKER',
] as const

/** Environment of our MCP server only. The server talks to nobody outside this machine, and reading certificates would double its start time. */
export const mcpServerEnvironment = { NODE_EXTRA_CA_CERTS: '' } as const

export const ctrlC = '\x03'
export const escapeKey = '\x1b'

/** The pattern of one sign: in the title, or in one of the lowest lines that are not empty. Text above those lines is conversation, which proves nothing. */
interface ScreenPattern {
  title?: RegExp
  line?: RegExp
  /** The number of lowest lines that are searched for `line`. */
  lines?: number
}

/** The patterns of all signs, one table per CLI, since texts and glyphs change with versions. A dialog goes before everything. */
export type ScreenPatterns = Record<ScreenSign, ScreenPattern>

export function findScreenSign(signs: ScreenPatterns, { title, lines }: ScreenText): ScreenSign | undefined {
  const written = lines.map((line) => line.trimEnd()).filter((line) => line !== '')
  // An empty screen: the program has not drawn itself yet, and what is typed now may be lost.
  if (written.length === 0) return 'busy'
  const shows = ({ title: inTitle, line: inLine, lines: high = 2 }: ScreenPattern) =>
    inTitle?.test(title) || (inLine !== undefined && written.slice(-high).some((line) => inLine.test(line)))
  return (['blocked', 'busy', 'idle'] as const).find((sign) => shows(signs[sign]))
}

/** Returns the fields of a CLI that shows these signs in its terminal: Escape interrupts its turn, and a second Ctrl-C ends it. */
export function terminalFields(name: NameWith<'worker'>, signs: ScreenPatterns, { enterDelayMs = 100 } = {}) {
  return {
    ...cliTableFields(name),
    typing: { enterDelayMs },
    interruptKeys: [escapeKey],
    exitKeys: [ctrlC, ctrlC],
    readScreenSign: (screen: ScreenText) => findScreenSign(signs, screen),
  }
}

/** Whether the arguments have `--flag` or `--flag=value`. */
export function hasFlag(args: readonly string[], flag: string): boolean {
  return args.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
}
