// The list of commands in the order of `agent-relay --help`, each with the file to load. A command is loaded only when it is run, so that no command waits for
// what another one imports. To add one: write a file in commands/ and a row in its group; the groups that agents use too are in catalog-agents.ts.

import { agentCommands, talkCommands, workCommands } from './catalog-agents.ts'
import type { CatalogRow, NamedCommand } from './command.ts'

const workspaceCommands: CatalogRow[] = [
  {
    name: 'up',
    text: 'run the relay in this terminal, and show each message',
    load: async () => (await import('./commands/daemon/up.ts')).up,
  },
  {
    name: 'status',
    text: 'the state of this workspace and its daemon',
    load: async () => (await import('./commands/workspace/status.ts')).status,
  },
  {
    name: 'workspace',
    alias: 'workspaces',
    text: 'workspaces, each with agents and messages of its own: list, create, open, close, key, remove, policy, share, unshare, hand-over, backup, restore, recover, export, import, prune',
    isGroup: true,
    load: async () => (await import('./commands/workspace/workspace.ts')).workspace,
  },
  {
    name: 'cluster',
    text: 'the PostgreSQL server with the workspaces that several machines share: status, init, raise, reconcile',
    isGroup: true,
    load: async () => (await import('./commands/cluster/cluster.ts')).cluster,
  },
  {
    name: 'machine',
    alias: 'machines',
    text: 'the machines that share workspaces with this one: list, invite, join, allow, revoke',
    isGroup: true,
    load: async () => (await import('./commands/cluster/machine.ts')).machine,
  },
  {
    name: 'dashboard',
    text: 'open the page: every agent, message and terminal',
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  {
    name: 'trust',
    text: "let runs and workers use the settings of this project's .relay/config.json, as the file is now",
    load: async () => (await import('./commands/workspace/trust.ts')).trust,
  },
]

const setUpCommands: CatalogRow[] = [
  {
    name: 'setup',
    text: 'make this directory a workspace and connect your CLIs',
    load: async () => (await import('./commands/mcp/setup.ts')).setup,
  },
  {
    name: 'mcp',
    text: 'connect editors and CLIs: install, uninstall, and the MCP server that they start: serve, start',
    isGroup: true,
    load: async () => (await import('./commands/mcp/mcp.ts')).mcp,
  },
  {
    name: 'demo',
    text: 'three scripted agents at work: no model, no network, a workspace of their own',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  {
    name: 'completion',
    args: '<shell>',
    text: 'print a script with which bash, zsh or fish complete commands, names and ids',
    load: async () => (await import('./commands/completion.ts')).completionCommand(allCommands),
  },
  {
    name: 'complete',
    args: '[what] [words...]',
    text: 'names and ids, one a line, for shells: fast, and silent whatever goes wrong',
    isHidden: true,
    load: async () => (await import('./commands/completion.ts')).completeCommand,
  },
]

const careCommands: CatalogRow[] = [
  {
    name: 'daemon',
    text: 'the relay in the background: start, stop, restart, upgrade, status, logs, install-service',
    isGroup: true,
    load: async () => (await import('./commands/daemon/daemon.ts')).daemon,
  },
  {
    name: 'doctor',
    text: 'find what is wrong with this installation, and say how to fix it',
    load: async () => (await import('./commands/doctor/doctor.ts')).doctor,
  },
  {
    name: 'prove',
    text: 'test on this machine what Agent Relay promises: kills, a full disk, hostile frames and more, in about a minute',
    load: async () => (await import('./commands/prove.ts')).prove,
  },
]

/** The ten commands that `agent-relay --help` lists, in this order: those that a person uses every day. `agent-relay help all` lists all commands. */
export const dailyCommands = ['setup', 'up', 'dashboard', 'spawn', 'attach', 'who', 'send', 'tail', 'needs', 'doctor']

/**
 * All groups, in the order of `help all`. A command named by a noun, such as `runs`, works in singular and plural, and lists its items if it is called without
 * a subcommand.
 */
export const commandGroups: { title: string; rows: CatalogRow[]; isForAgents?: boolean }[] = [
  { title: 'Talk', rows: talkCommands, isForAgents: true },
  { title: 'Agents', rows: agentCommands, isForAgents: true },
  { title: 'Work', rows: workCommands, isForAgents: true },
  { title: 'Workspace', rows: workspaceCommands },
  { title: 'Set-up', rows: setUpCommands },
  { title: 'Care', rows: careCommands },
]

export const commandCatalog: CatalogRow[] = commandGroups.flatMap(({ rows }) => rows)

/** Loads every command with its options and subcommands: the completion scripts and docs/reference are made from them. */
export function allCommands(): Promise<NamedCommand[]> {
  return Promise.all(commandCatalog.map(loadCommand))
}

export async function loadCommand({ load, ...line }: CatalogRow): Promise<NamedCommand> {
  return { ...line, ...(await load()) }
}
