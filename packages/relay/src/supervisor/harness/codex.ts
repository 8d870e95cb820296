// Codex: MCP by one -c override, which merges with the user's configuration and changes no file. An app-server runs beside the worker's terminal,
// so that Codex's questions are known as a whole.

import { join } from 'node:path'
import { CodexWorkerServer } from '../codex/worker-server.ts'
import { type Harness, type LaunchContext, type ScreenPatterns, serverName, terminalFields } from './harness.ts'

/** The screen of Codex 0.166.0 in each state. */
const signs: ScreenPatterns = {
  blocked: { title: /^\[ . \] Action Required/, line: /^\s*Press enter to (?:confirm|continue)/i },
  busy: { title: /^[⠁-⣿]/u, line: /\besc to interrupt\b/i, lines: 6 },
  idle: { title: /^[^⠁-⣿]/u },
}

/** Settings that bring an MCP server of the user's own: under our name or `relaycast`, or as the whole table. */
const ownServer = new RegExp(`mcp_servers\\.(?:${serverName}|relaycast)\\b|\\bmcp_servers\\s*=`)

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
  // Without its server nobody knows its conversation.
  canContinue: (args) => serverSettingsIn(args) !== undefined,
  conversationIds: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/,
  launch(context) {
    const own = [...(context.model === undefined ? [] : ['-m', context.model]), ...context.args]
    const relay = context.isInjected ? configOverrides(context).flatMap((override) => ['-c', override]) : []
    // Codex's shared background server would own our MCP child and outlive the worker.
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

/** Options that the terminal hands on to its server, without and with a value, and options that the server must be given too. */
const [handedOn, handedOnWithValue, forBoth] = [
  ['--search', '--no-alt-screen', '--approve-for-me', '--dangerously-bypass-approvals-and-sandbox'],
  ['-m', '--model', '-s', '--sandbox', '-a', '--ask-for-approval'],
  ['-c', '--config', '--enable', '--disable'],
]

/** The arguments for the server among them; undefined where an argument is unknown: the worker then runs without a server, as the user wants it. */
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
    // Codex gives its MCP children a clean environment. Only names stand here, so that no value stands in an argument.
    `env_vars=[${Object.keys(identity).map(toml).join(',')}]`,
    // Without this the first request may leave before the tools are loaded.
    'required=true',
    'default_tools_approval_mode="approve"',
  ]
  return [
    `mcp_servers.${serverName}={${entry.join(',')}}`,
    // Codex does not read the dotted form of this setting.
    `projects={${toml(cwd)}={trust_level="trusted"}}`,
    // Empty means no identity; unlike `exclude`, one key of `set` leaves the user's own list as it is.
    'shell_environment_policy.set.RELAY_AGENT_TOKEN=""',
  ]
}

/** A TOML string: JSON's form, except for one character that JSON does not escape. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f')
}
