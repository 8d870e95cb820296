// The groups of commands: workspaces, channels, actions, agents, runs, and the MCP server. What stands alone is in catalog.ts.

import { installCommands } from './care-commands.ts'
import type { CommandRule, OptionRule } from './rule.ts'

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
    name: 'remove',
    args: '<name>',
    text: 'remove a workspace with its messages and its key, for good',
    options: [
      { flags: '--force', text: 'even while agents are connected: their sessions and workers end' },
      { flags: '-y, --yes', text: 'ask nothing' },
    ],
    examples: ['agent-relay workspace remove demo-1a2b', 'agent-relay workspace remove frontend --force --yes'],
    isNobody: true,
    load: async () => (await import('./commands/workspace.ts')).remove,
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
    isDefault: true,
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
    takesAgent: true,
    text: "make an agent's tokens invalid, and end what is connected with one",
    examples: ['agent-relay agents revoke Bob'],
    load: async () => (await import('./commands/agents.ts')).revoke,
  },
]

export const actionCommands: CommandRule[] = [
  {
    name: 'list',
    text: 'the actions that programs offer now',
    isDefault: true,
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

export const runCommands: CommandRule[] = [
  {
    name: 'start',
    text: 'give an agent a contract; answers at once, or with --wait when it is over',
    options: [
      { flags: '--contract <text>', text: 'what it shall do and hand over' },
      { flags: '-f, --file <path>', text: 'the same from a file; - reads it from stdin' },
      {
        flags: '--harness <name>',
        text: 'who carries it out (loop)',
        choices: ['loop', 'claude', 'codex', 'opencode', 'gemini', 'external'],
      },
      { flags: '--agent <name>', text: 'the agent that carries out an external one' },
      { flags: '--model <name>', text: 'the model (else RELAY_MODEL)' },
      { flags: '--cwd <path>', text: 'its working directory (this one)' },
      { flags: '--wait', text: 'until it is over; prints its summary' },
    ],
    examples: [
      'agent-relay runs start --contract "List the flaky tests" --wait',
      'agent-relay runs start -f contract.md --harness claude',
    ],
    load: async () => (await import('./commands/runs.ts')).start,
  },
  {
    name: 'status',
    args: '[ids...]',
    text: 'how runs fare, by id or by name; all of them, newest first, if none is named',
    isDefault: true,
    examples: ['agent-relay runs', 'agent-relay runs status run_01kabc --json'],
    load: async () => (await import('./commands/runs.ts')).status,
  },
  {
    name: 'stop',
    args: '<id>',
    text: 'end a run: its model is asked nothing more',
    examples: ['agent-relay runs stop run_01kabc'],
    load: async () => (await import('./commands/runs.ts')).stop,
  },
  {
    name: 'payload',
    args: '<id>',
    text: 'what a run handed over, as it is',
    examples: ['agent-relay runs payload run_01kabc > report.md'],
    load: async () => (await import('./commands/runs.ts')).payload,
  },
]

const tools: OptionRule = { flags: '--tools <names>', text: 'toolsets to offer, separated by commas' }

export const mcpCommands: CommandRule[] = [
  ...installCommands,
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

export const liftOptions: OptionRule[] = [
  { flags: '--manual', text: 'print the prompts for pasting (the default)' },
  { flags: '--tmux', text: 'the relay and a pane for each role, in a tmux window' },
  { flags: '--kitty', text: 'the same in a kitty tab' },
  { flags: '--roles <names>', text: 'the roles (pm,dev-a,dev-b)' },
  { flags: '--port <n>', text: 'the port of the relay (7331); 0 takes a free one', number: [0, 65_535] },
  { flags: '--cli <name>', text: 'what runs in the panes: a CLI (claude) or the path of a program' },
  { flags: '--keep', text: 'keep the messages, in .relay/lift of this directory' },
  { flags: '--configure', text: "add the relay to this project's MCP files, and do no more" },
  { flags: '--unconfigure', text: 'take it out of them' },
]

export const liftCommands: CommandRule[] = [
  {
    name: 'prompt',
    args: '<role>',
    text: 'print what a role is told at its start',
    examples: ['agent-relay lift prompt pm', 'agent-relay lift prompt api --roles lead,api,web'],
    isNobody: true,
    load: async () => (await import('./commands/lift.ts')).prompt,
  },
  {
    name: 'stage',
    args: '<directory>',
    text: 'be the relay of a lift in its pane (what `lift --tmux` starts)',
    isNobody: true,
    isHidden: true,
    load: async () => (await import('./commands/lift.ts')).stage,
  },
  {
    name: 'pane',
    args: '<file>',
    text: 'be the pane of a role (what the relay of a lift starts)',
    isNobody: true,
    isHidden: true,
    load: async () => (await import('./commands/lift.ts')).pane,
  },
]
