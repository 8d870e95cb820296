// Codex: MCP by one -c override, which merges with the user's configuration and changes no file.

import { ctrlC, type Harness, known, type LaunchContext, readSigns, type Signs, serverName } from './harness.ts'

/** Signs of version 0.166.0. */
const signs: Signs = {
  blocked: { title: /^\[ . \] Action Required/, line: /^\s*Press enter to (?:confirm|continue)/i },
  busy: { title: /^[⠁-⣿]/u, line: /\besc to interrupt\b/i, lines: 6 },
  idle: { title: /^[^⠁-⣿]/u },
}

/** Settings that bring a server of the user's own: under our name, under the one that was first asked for, or the whole table. */
const ownServer = new RegExp(`mcp_servers\\.(?:${serverName}|relaycast)\\b|\\bmcp_servers\\s*=`)

export const codex: Harness = {
  ...known('codex'),
  install: 'npm install -g @openai/codex',
  typing: { enterDelayMs: 100 },
  exitKeys: [ctrlC, ctrlC],
  bringsOwnMcp: (args) => args.some((arg) => ownServer.test(arg)),
  read: (view) => readSigns(signs, view),
  launch(context) {
    const model = context.model === undefined ? [] : ['-m', context.model]
    const relay = context.isInjected ? overrides(context).flatMap((override) => ['-c', override]) : []
    // Its shared background server would own our MCP child and outlive the worker.
    return { args: ['--no-daemon', ...relay, ...model, ...context.args], env: {} }
  },
}

function overrides({ server, identity, cwd }: LaunchContext): string[] {
  const entry = [
    `command=${toml(server.command)}`,
    `args=[${server.args.map(toml).join(',')}]`,
    // Its MCP children get a clean environment: names only, so that no value stands in an argument.
    `env_vars=[${Object.keys(identity).map(toml).join(',')}]`,
    // Otherwise the first request may leave before the tools are there.
    'required=true',
    'default_tools_approval_mode="approve"',
  ]
  return [
    `mcp_servers.${serverName}={${entry.join(',')}}`,
    // The dotted form of this one is not read.
    `projects={${toml(cwd)}={trust_level="trusted"}}`,
    // Empty means no identity; unlike `exclude`, one key of `set` leaves the user's own list as it is.
    'shell_environment_policy.set.RELAY_AGENT_TOKEN=""',
  ]
}

/** A JSON string is a TOML string, except for one character that JSON does not escape. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', '\\u007f')
}
