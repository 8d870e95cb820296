// The harness of Codex: -c overrides add our MCP server, which are merged with the user's configuration and change no file. An app-server runs beside
// the worker's terminal and reports Codex's questions in full.

import { join } from 'node:path'
import { CodexWorkerServer } from '../codex/worker-server.ts'
import { type Harness, type LaunchContext, mcpServerName, type ScreenPatterns, terminalFields } from './harness.ts'

/** How the screen of Codex 0.166.0 looks in each state. */
const signs: ScreenPatterns = {
  blocked: { title: /^\[ . \] Action Required/, line: /^\s*Press enter to (?:confirm|continue)/i },
  busy: { title: /^[⠁-⣿]/u, line: /\besc to interrupt\b/i, lines: 6 },
  idle: { title: /^[^⠁-⣿]/u },
}

/** Settings by which the user adds an MCP server under our name or `relaycast`, or replaces the whole table of MCP servers. */
const ownServer = new RegExp(`mcp_servers\\.(?:${mcpServerName}|relaycast)\\b|\\bmcp_servers\\s*=`)

export const codexHarness: Harness = {
  ...terminalFields('codex', signs),
  install: 'npm install -g @openai/codex',
  variables: [
    'OPENAI_API_KEY',
    'OPENAI_BASE_URL',
    'OPENAI_ORGANIZATION',
    'OPENAI_PROJECT',
    'CODEX_API_KEY',
    'CODEX_HOME',
  ],
  bringsOwnMcp: (args) => args.some((arg) => ownServer.test(arg)),
  // Without the app-server, nobody knows the id of Codex's conversation.
  canContinue: (args) => serverSettingsIn(args) !== undefined,
  conversationIds: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/,
  launch(context) {
    const own = [...(context.model === undefined ? [] : ['-m', context.model]), ...context.args]
    const relay = context.isInjected ? configOverrides(context).flatMap((override) => ['-c', override]) : []
    // `--no-daemon`: Codex's shared background server would own the process of our MCP server, and outlive the worker.
    const resumed = context.conversation ? ['resume', context.conversation.id] : []
    const launch = { args: [...resumed, '--no-daemon', ...relay, ...own], env: {} }
    const settings = serverSettingsIn(own)
    if (!settings) return launch
    const socket = socketOf(context)
    const args = ['app-server', ...relay, ...settings, '--listen', `unix://${socket}`]
    const clientArgs = [...resumed, '--remote', `unix://${socket}`, ...relay, ...own]
    return { ...launch, companion: { args, socket, clientArgs } }
  },
  cliServer: (context) => new CodexWorkerServer(socketOf(context), context.cwd),
}

const socketOf = ({ directory }: LaunchContext) => join(directory, 'codex.sock')

/**
 * Options of the terminal that the terminal passes on to the app-server, without a value and with one; and options that the app-server has to be
 * given as well.
 */
const [handedOn, handedOnWithValue, forBoth] = [
  ['--search', '--no-alt-screen', '--approve-for-me', '--dangerously-bypass-approvals-and-sandbox'],
  ['-m', '--model', '-s', '--sandbox', '-a', '--ask-for-approval'],
  ['-c', '--config', '--enable', '--disable'],
]

/**
 * Returns those arguments that the app-server has to be given too. Undefined if an argument is unknown: then the worker runs without an app-server,
 * exactly as the user asked.
 */
function serverSettingsIn(args: readonly string[]): string[] | undefined {
  const settings: string[] = []
  for (let at = 0; at < args.length; at++) {
    const [option = '', ...value] = (args[at] as string).split('=')
    const isBoth = forBoth.includes(option)
    if (handedOn.includes(option) && value.length === 0) continue
    if (!isBoth && !handedOnWithValue.includes(option)) return undefined
    const given = value.length > 0 ? [args[at] as string] : args.slice(at++, at + 1)
    if (isBoth) settings.push(...given)
  }
  return settings
}

function configOverrides({ server, identity, cwd }: LaunchContext): string[] {
  const entry = [
    `command=${toml(server.command)}`,
    `args=[${server.args.map(toml).join(',')}]`,
    // Codex gives its MCP servers a clean environment. Only names of variables are listed here, so that no value appears in an argument.
    `env_vars=[${Object.keys(identity).map(toml).join(',')}]`,
    // Without this, Codex may send the first request to its model before our tools are loaded.
    'required=true',
    'default_tools_approval_mode="approve"',
  ]
  return [
    `mcp_servers.${mcpServerName}={${entry.join(',')}}`,
    // This setting is written as a table in braces, since Codex does not read its dotted form.
    `projects={${toml(cwd)}={trust_level="trusted"}}`,
    // Keeps the agent's token from the commands that Codex runs: an empty token means no identity. Setting a single key of `set`, unlike `exclude`,
    // leaves the user's own list as it is.
    'shell_environment_policy.set.RELAY_AGENT_TOKEN=""',
  ]
}

/** Returns a TOML string: the same as JSON's, except for one character (DEL) that JSON does not escape. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f')
}
