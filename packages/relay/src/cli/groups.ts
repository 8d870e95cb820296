// The groups of commands: the daemon, workspaces, channels, actions, agents, and the MCP server. What stands alone is in catalog.ts.

import type { CommandRule, OptionRule } from './rule.ts'

const httpOptions: OptionRule[] = [
  { flags: '--port <n>', text: 'HTTP port (else RELAY_PORT, 8101); 0 takes a free one', number: [0, 65_535] },
  { flags: '--no-http', text: 'no HTTP port at all' },
  { flags: '--open', text: 'ask for no key on that port, for clients that know only an address' },
  { flags: '--allow-origin <url>', text: 'a web page that may talk to it, e.g. http://localhost:5173', isList: true },
  { flags: '--host <address>', text: 'listen there instead of on loopback' },
  { flags: '--allow-remote', text: 'yes, others may reach it at --host' },
]
export const upOptions: OptionRule[] = [
  { flags: '--memory', text: 'a throw-away relay: nothing is kept, nothing else is touched' },
  { flags: '--quiet', text: 'say nothing unless something is wrong' },
  ...httpOptions,
]

export const daemonCommands: CommandRule[] = [
  {
    name: 'start',
    text: 'start it if it does not run, and open the workspace of this directory',
    options: [...upOptions, { flags: '--test', text: 'the same as --memory: prints the variables to set' }],
    examples: [
      'agent-relay daemon start',
      'agent-relay daemon start --project frontend',
      'eval "$(agent-relay daemon start --test)"',
    ],
    isNobody: true,
    load: async () => (await import('./commands/daemon.ts')).start,
  },
  {
    name: 'stop',
    text: 'answer what is under way, then stop it',
    examples: ['agent-relay daemon stop'],
    isNobody: true,
    load: async () => (await import('./commands/daemon.ts')).stop,
  },
  {
    name: 'restart',
    text: 'stop and start it; the open workspaces stay open',
    examples: ['agent-relay daemon restart'],
    isNobody: true,
    load: async () => (await import('./commands/daemon.ts')).restart,
  },
  {
    name: 'status',
    text: 'version, process, load and open workspaces',
    examples: ['agent-relay daemon status', 'agent-relay daemon status --json'],
    isNobody: true,
    load: async () => (await import('./commands/daemon.ts')).status,
  },
  {
    name: 'logs',
    text: 'the end of its log',
    options: [
      { flags: '--follow', text: 'and what comes, until Ctrl-C' },
      { flags: '--lines <n>', text: 'so many lines (100)', number: [1, 100_000] },
    ],
    examples: ['agent-relay daemon logs', 'agent-relay daemon logs --follow'],
    isNobody: true,
    load: async () => (await import('./commands/daemon.ts')).logs,
  },
  {
    name: 'run',
    text: 'be the daemon (what `daemon start` starts)',
    options: [
      { flags: '--memory', text: 'databases in memory' },
      { flags: '--home <name>', text: 'the workspace that a caller without a credential means' },
      ...httpOptions,
    ],
    isNobody: true,
    isHidden: true,
    load: async () => (await import('./commands/daemon-run.ts')).run,
  },
]

const policyCommands: CommandRule[] = [
  {
    name: 'get',
    text: 'who may see whose terminal, and which other workspaces may write here',
    examples: ['agent-relay workspace policy get', 'agent-relay workspace policy get --project frontend --json'],
    load: async () => (await import('./commands/policy.ts')).get,
  },
  {
    name: 'set',
    text: 'change it; what is not named stays as it is',
    options: [
      { flags: '--writers <names>', text: 'workspaces whose key holders may write here: a list, *, or none' },
      { flags: '--terminal <agent=names>', text: 'whose terminals an agent may see: a list, *, or none', isList: true },
    ],
    examples: [
      'agent-relay workspace policy set --writers backend,docs',
      'agent-relay workspace policy set --terminal "Lead=*" --terminal Bob=none',
    ],
    load: async () => (await import('./commands/policy.ts')).set,
  },
]

export const workspaceCommands: CommandRule[] = [
  {
    name: 'create',
    args: '<name>',
    text: 'make a workspace and print its key, this once',
    examples: ['agent-relay workspace create frontend'],
    isNobody: true,
    load: async () => (await import('./commands/workspace.ts')).create,
  },
  {
    name: 'list',
    text: 'the workspaces of this data directory',
    examples: ['agent-relay workspace list', 'agent-relay workspace list --json'],
    isNobody: true,
    load: async () => (await import('./commands/workspace.ts')).list,
  },
  {
    name: 'key',
    args: '[name]',
    text: 'print the key of a workspace, by default the one of this directory',
    options: [{ flags: '--rotate', text: 'make a new one: the former one, and what is connected with it, ends' }],
    examples: ['agent-relay workspace key', 'agent-relay workspace key frontend --rotate'],
    isNobody: true,
    load: async () => (await import('./commands/key.ts')).run,
  },
  {
    name: 'policy',
    text: 'what a workspace allows: get, set',
    examples: ['agent-relay workspace policy get'],
    commands: policyCommands,
  },
]

export const channelCommands: CommandRule[] = [
  {
    name: 'list',
    text: 'all channels',
    examples: ['agent-relay channels'],
    load: async () => (await import('./commands/channels.ts')).list,
  },
  ...(['create', 'join', 'leave'] as const).map(
    (verb): CommandRule => ({
      name: verb,
      args: '<name>',
      text: { create: 'make a channel and enter it', join: 'enter a channel', leave: 'leave a channel' }[verb],
      examples: [`agent-relay channels ${verb} build --as Alice`],
      load: async () => (await import('./commands/channels.ts'))[verb],
    }),
  ),
]

export const agentCommands: CommandRule[] = [
  {
    name: 'revoke',
    args: '<name>',
    text: "make an agent's tokens invalid, and end what is connected with one",
    examples: ['agent-relay agents revoke Bob'],
    load: async () => (await import('./commands/agents.ts')).revoke,
  },
]

export const actionCommands: CommandRule[] = [
  {
    name: 'list',
    text: 'the actions that programs offer now',
    examples: ['agent-relay actions', 'agent-relay actions list --json'],
    load: async () => (await import('./commands/actions.ts')).list,
  },
  {
    name: 'invoke',
    args: '<name> [input]',
    text: 'call one; the input is JSON, - reads it from stdin',
    options: [{ flags: '--timeout <ms>', text: 'wait at most so long', number: [1, 600_000] }],
    examples: [`agent-relay actions invoke review.submit_vote '{"proposalId": "7", "vote": "approve"}'`],
    load: async () => (await import('./commands/actions.ts')).invoke,
  },
]

const tools: OptionRule = { flags: '--tools <names>', text: 'toolsets to offer, separated by commas' }

export const mcpCommands: CommandRule[] = [
  {
    name: 'start',
    text: 'the MCP server on stdin and stdout for the workspace of a key, from any directory',
    options: [
      { flags: '--workspace <key>', text: 'the workspace key (else RELAY_WORKSPACE_KEY)' },
      { ...tools, text: `${tools.text} (workspace)` },
    ],
    examples: ['agent-relay mcp start --workspace "$RELAY_WORKSPACE_KEY"'],
    isNobody: true,
    load: async () => (await import('./commands/mcp.ts')).start,
  },
  {
    name: 'serve',
    text: 'the same for the workspace of this directory; what agent-relay-mcp serve does',
    options: [{ ...tools, text: `${tools.text} (relay, or RELAY_TOOLS)` }],
    examples: ['agent-relay mcp serve', 'agent-relay mcp serve --tools relay,workspace'],
    isNobody: true,
    load: async () => (await import('./commands/mcp.ts')).serve,
  },
]
