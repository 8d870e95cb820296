// The contract of a harness: everything that differs from one agent CLI to the next. One file per CLI implements it; the supervisor uses it.

import { type CliNameWith, cliOf } from '@agent-relay/sdk/internal/clis'
import type { CliServer } from '../cli-server.ts'

export interface Harness {
  readonly name: string
  /** The program to look up on PATH; undefined for `plain`, whose command the user gives. */
  readonly program: string | undefined
  /** The command that installs the program, shown when it is missing. */
  readonly install: string
  /**
   * Environment variables of the daemon that the program needs, such as keys for its models and its home directory. A worker sees no others, except a
   * common list.
   */
  readonly variables?: readonly string[]
  /**
   * Whether the program takes MCP servers. If it does not, it counts as ready when its screen is quiet, and it answers with the command `agent-relay
   * send`.
   */
  readonly hasMcp: boolean
  /** Whether the user's arguments contain MCP configuration already; our MCP server is not added then. */
  bringsOwnMcp(args: readonly string[]): boolean
  /** Returns the arguments, files and environment that start the program with our MCP server. Changes nothing itself. */
  launch(context: LaunchContext): LaunchPlan
  /**
   * Whether a later program can continue the conversation of a program that was started in a terminal with these arguments. Unset: it never can. Over
   * ACP, the program itself says whether it can.
   */
  canContinue?(args: readonly string[]): boolean
  /** The form of conversation ids, as the CLI's own server reports them. Unset: the relay makes the id and gives it to the program. */
  readonly conversationIds?: RegExp
  /** Reads the program's state from the title and the bottom of the screen. Undefined if neither shows it; then the time without output decides. */
  readScreenSign(screen: ScreenText): ScreenSign | undefined
  /** Delay between a paste and Enter. Both are typed only into an idle prompt: Enter would interrupt a busy Codex. */
  readonly typing: { enterDelayMs: number }
  /** Keys that interrupt a turn in the program's terminal, such as Escape. Unset: none are known. */
  readonly interruptKeys?: readonly string[]
  /** Keys that ask the program to exit, such as two Ctrl-C. */
  readonly exitKeys: readonly string[]
  /** The prefix under which the model sees our tools, such as `mcp__agent-relay__`. */
  readonly toolPrefix: string
  /**
   * Time that the program's own hooks get to take messages from the inbox; messages that are still there are typed after it. Unset: the program has
   * no hooks.
   */
  readonly hookGraceMs?: number
  /** Whether the CLI's own server speaks HTTP, on a free port that the relay chooses. */
  readonly needsPort?: true
  /** Connects to the CLI's own server, which takes messages and reports questions. Unset or undefined: keystrokes and the screen are used. */
  cliServer?(context: LaunchContext): CliServer | undefined
  /** How the program is used over ACP, which is preferred unless somebody wants its terminal. */
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
  /** Whether the agent offers to open an earlier conversation again, but fails to. */
  readonly losesConversations?: true
  /** Whether the tokens that are reported with a turn are those of the whole conversation. */
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
  /** The worker's private directory (mode 0700), which is removed with the worker. */
  directory: string
  /** The command that starts our MCP server on stdio: Node's absolute path, `agent-relay-mcp`, `serve`. */
  server: ProgramCommand
  /** The command that starts `agent-relay-mcp hook`; the name of the hook's event is to be added. */
  hook: ProgramCommand
  /** RELAY_SOCKET (or RELAY_BASE_URL), RELAY_AGENT_NAME, RELAY_AGENT_TOKEN …: these go into the program's environment, never into an argument. */
  identity: Readonly<Record<string, string>>
  model?: string
  args: readonly string[]
  cwd: string
  /** The variables of the owner's environment that a worker may see. A value may have to be merged with ours (OPENCODE_CONFIG_CONTENT). */
  env: Readonly<Record<string, string | undefined>>
  /** A free port on loopback, for a CLI whose own server is HTTP. */
  port?: number
  /** The conversation to continue. For a program that takes an id from the relay, a UUID, it may also be the conversation to begin. */
  conversation?: { id: string; isContinued: boolean }
  isInjected: boolean
}

export interface LaunchPlan {
  args: string[]
  /** Environment variables in addition to those that every worker gets. */
  env: Record<string, string>
  /** Files that are written with mode 0600 before the program's start. */
  files?: { path: string; text: string }[]
  /** Commands of the CLI to run before its start, such as `gemini mcp add`, once per installation. */
  setupRuns?: { args: string[] }[]
  /** A server of the CLI that runs beside the program. `args`: the server's arguments. `clientArgs`: the program's arguments if that server runs. */
  companion?: { args: string[]; socket: string; clientArgs: string[] }
}

export { mcpServerName } from '@agent-relay/sdk/internal/clis'

/** Returns the harness fields that the table of CLIs contains. */
export function cliTableFields(
  name: CliNameWith<'worker'>,
): Pick<Harness, 'name' | 'program' | 'hasMcp' | 'toolPrefix'> {
  const cli = cliOf(name)
  return {
    name,
    program: cli.program,
    hasMcp: cli.worker === 'mcp',
    toolPrefix: 'toolPrefix' in cli ? cli.toolPrefix : '',
  }
}

/** Environment variables that a stored MCP entry must pass on, so that it serves later workers however they reach the daemon. */
export const identityVariables = [
  'RELAY_SOCKET',
  'RELAY_BASE_URL',
  'RELAY_AGENT_NAME',
  'RELAY_AGENT_TYPE',
  'RELAY_STRICT_AGENT_NAME',
  'RELAY_AGENT_TOKEN',
  // The marker by which all processes that a worker has started are found.
  'RELAY_WORKER',
] as const

/** Environment of our MCP server alone. This server talks to no other machine, and reading certificates would double its start time. */
export const mcpServerEnvironment = { NODE_EXTRA_CA_CERTS: '' } as const

export const ctrlC = '\x03'
export const escapeKey = '\x1b'

/**
 * What shows one state: a pattern in the title, or in one of the lowest lines of the screen that are not empty. Lines further up are conversation and
 * prove nothing.
 */
interface ScreenPattern {
  title?: RegExp
  line?: RegExp
  /** The number of lowest lines that are searched for `line`. */
  lines?: number
}

/**
 * What shows each state; one table per CLI, since texts and symbols change with versions. If several states are shown, `blocked` counts before the
 * others.
 */
export type ScreenPatterns = Record<ScreenSign, ScreenPattern>

export function findScreenSign(signs: ScreenPatterns, { title, lines }: ScreenText): ScreenSign | undefined {
  const written = lines.map((line) => line.trimEnd()).filter((line) => line !== '')
  // The screen is empty: the program has not drawn it yet, and what is typed now may be lost.
  if (written.length === 0) return 'busy'
  const shows = ({ title: inTitle, line: inLine, lines: high = 2 }: ScreenPattern) =>
    inTitle?.test(title) || (inLine !== undefined && written.slice(-high).some((line) => inLine.test(line)))
  return (['blocked', 'busy', 'idle'] as const).find((sign) => shows(signs[sign]))
}

/** Returns the fields of a CLI that shows these signs in its terminal: Escape interrupts its turn, and a second Ctrl-C ends it. */
export function terminalFields(name: CliNameWith<'worker'>, signs: ScreenPatterns, { enterDelayMs = 100 } = {}) {
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
