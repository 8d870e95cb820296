// The list of commands as people see it in `--help`: words, options, examples, and where each one's code is. Nothing here loads that code.

import { careCommands, setupCommand } from './care-commands.ts'
import { daemonCommands, upOptions } from './daemon-commands.ts'
import {
  actionCommands,
  agentCommands,
  channelCommands,
  liftCommands,
  liftOptions,
  mcpCommands,
  runCommands,
  workspaceCommands,
} from './groups.ts'
import type { CommandRule, OptionRule } from './rule.ts'
import { workerCommands } from './worker-commands.ts'

const limit: OptionRule = { flags: '--limit <n>', text: 'show at most so many', number: [1, 500] }
const from: OptionRule = { flags: '--from <name>', text: 'only from this sender' }
const channel: OptionRule = { flags: '--channel <name>', text: 'only in this channel' }
const types: OptionRule = {
  flags: '--type <name>',
  text: 'only such events, e.g. message.created or channel.*',
  isList: true,
}
export const catalog: CommandRule[] = [
  setupCommand,
  {
    name: 'up',
    text: 'run the relay here, in the foreground, and show each message',
    options: upOptions,
    examples: ['agent-relay up', 'agent-relay up --project frontend', 'agent-relay up --memory'],
    isNobody: true,
    load: async () => (await import('./commands/up.ts')).run,
  },
  {
    name: 'demo',
    text: 'three scripted agents at work: no model, no network, a workspace of their own',
    options: [{ flags: '--journal', text: "and that workspace's journal, entry by entry" }],
    examples: ['agent-relay demo', 'agent-relay demo --journal'],
    isNobody: true,
    load: async () => (await import('./commands/demo.ts')).run,
  },
  {
    name: 'dashboard',
    text: 'open the page that shows every agent, message and terminal',
    options: [
      { flags: '--no-open', text: 'only print the link' },
      { flags: '--logout', text: 'end every link and login of the page' },
    ],
    examples: ['agent-relay dashboard', 'agent-relay dashboard --logout'],
    isNobody: true,
    load: async () => (await import('./commands/dashboard.ts')).run,
  },
  {
    name: 'daemon',
    text: 'the relay in the background: start, stop, restart, status, logs, install-service',
    commands: daemonCommands,
  },
  {
    name: 'workspace',
    text: 'isolated worlds of agents: create, list, key, remove, policy',
    commands: workspaceCommands,
  },
  { name: 'mcp', text: 'the MCP server for editors and CLIs: install, uninstall, start, serve', commands: mcpCommands },
  {
    name: 'send',
    args: '<to> <message>',
    takesAgent: true,
    text: 'send a message to an agent, several (Ann,Bob), #channel, * or workspace:name; - reads it from stdin',
    options: [
      { flags: '--thread <name>', text: 'the thread it belongs to' },
      { flags: '--kind <kind>', text: 'what it is', choices: ['status', 'question', 'directive', 'free'] },
      { flags: '--reply-to <id>', text: 'the message it answers' },
      { flags: '--wait', text: 'wait for the answer and print it' },
      { flags: '--timeout <ms>', text: 'wait at most so long (30000)', number: [1, 600_000] },
    ],
    examples: [
      'agent-relay send Bob "Can you take the parser?"',
      'agent-relay send Bob "Which branch?" --kind question --wait --timeout 60000',
      'agent-relay send Ann,Bob "Lunch" --as kim',
      'git diff | agent-relay send "#review" -',
      'agent-relay send Bob -- "--force is needed"',
    ],
    load: async () => (await import('./commands/send.ts')).run,
  },
  {
    name: 'inbox',
    text: 'show what is unread, and mark it read',
    options: [
      { flags: '--peek', text: 'only look: it stays unread' },
      { flags: '--all', text: 'what was read before, too' },
      from,
      channel,
      { flags: '--thread <name>', text: 'only in this thread' },
      limit,
      { flags: '--follow', text: 'and what comes, until Ctrl-C' },
    ],
    examples: ['agent-relay inbox', 'agent-relay inbox --peek --from Alice', 'agent-relay inbox --follow --as Bob'],
    load: async () => (await import('./commands/inbox.ts')).run,
  },
  {
    name: 'who',
    text: 'the agents that are connected, and what they do',
    options: [{ flags: '--all', text: 'those that are away, too' }],
    examples: ['agent-relay who', 'agent-relay who --all --json'],
    load: async () => (await import('./commands/who.ts')).run,
  },
  {
    name: 'status',
    text: 'this workspace and its daemon',
    examples: ['agent-relay status', 'agent-relay status --project frontend --json'],
    load: async () => (await import('./commands/status.ts')).run,
  },
  {
    name: 'tail',
    text: 'everything that happens from now on, until Ctrl-C',
    options: [types],
    examples: ['agent-relay tail', 'agent-relay tail --type message.created --json'],
    load: async () => (await import('./commands/events.ts')).tail,
  },
  {
    name: 'events',
    text: 'what has happened, by number',
    options: [
      { flags: '--since <n>', text: 'only after this number', number: [0, Number.MAX_SAFE_INTEGER] },
      types,
      { ...limit, text: 'show at most so many (100)' },
      { flags: '--follow', text: 'and what comes, until Ctrl-C' },
    ],
    examples: ['agent-relay events --type "channel.*"', 'agent-relay events --since 120 --follow --json'],
    load: async () => (await import('./commands/events.ts')).events,
  },
  {
    name: 'channels',
    text: 'list channels, or create, join, leave one',
    examples: ['agent-relay channels', 'agent-relay channels create build'],
    commands: channelCommands,
  },
  {
    name: 'actions',
    text: 'list what programs offer, or invoke one',
    examples: ['agent-relay actions'],
    commands: actionCommands,
  },
  ...workerCommands,
  {
    name: 'runs',
    text: 'give an agent a contract, see how it fares, take its result: start, status, stop, payload',
    examples: ['agent-relay runs start --contract "List the flaky tests" --wait', 'agent-relay runs'],
    commands: runCommands,
  },
  {
    name: 'trust',
    text: "let runs and workers use what this project's .relay/config.json sets, as it stands now",
    options: [{ flags: '--revoke', text: 'no longer' }],
    examples: ['agent-relay trust', 'agent-relay trust --revoke'],
    isNobody: true,
    load: async () => (await import('./commands/trust.ts')).run,
  },
  { name: 'agents', text: 'what the key holder may do about agents: revoke', commands: agentCommands },
  {
    name: 'lift',
    text: 'several sessions with a role each, and a relay of their own: PM, Dev-A and Dev-B',
    options: liftOptions,
    examples: [
      'agent-relay lift',
      'agent-relay lift --tmux',
      'agent-relay lift --tmux --roles lead,api,web --cli codex',
      'agent-relay lift --configure',
    ],
    isNobody: true,
    commands: liftCommands,
    load: async () => (await import('./commands/lift.ts')).run,
  },
  {
    name: 'search',
    args: '<text>',
    text: 'find messages by their words',
    options: [from, channel, { ...limit, text: 'show at most so many (20)', number: [1, 500] }],
    examples: ['agent-relay search parser', 'agent-relay search "flaky test" --from Alice'],
    load: async () => (await import('./commands/messages.ts')).search,
  },
  {
    name: 'receipts',
    args: '<id>',
    text: 'for each recipient of a message: stored, offered, read',
    examples: ['agent-relay receipts m_01kabc'],
    load: async () => (await import('./commands/messages.ts')).receipts,
  },
  {
    name: 'thread',
    args: '<id>',
    text: 'the messages of a thread, oldest first',
    options: [{ ...limit, text: 'show at most so many (100)', number: [1, 500] }],
    examples: ['agent-relay thread task-123', 'agent-relay thread m_01kabc'],
    load: async () => (await import('./commands/messages.ts')).thread,
  },
  {
    name: 'react',
    args: '<id> <emoji>',
    text: 'put an emoji on a message',
    options: [{ flags: '--remove', text: 'take it off again' }],
    examples: ['agent-relay react m_01kabc 👍'],
    load: async () => (await import('./commands/messages.ts')).react,
  },
  ...careCommands(() => catalog),
]
