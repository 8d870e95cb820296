// The commands of the groups Talk, Agents and Work, which agents use as people do. catalog.ts has the other groups and the whole list.

import type { CatalogRow } from './command.ts'

export const talkCommands: CatalogRow[] = [
  {
    name: 'send',
    args: '<to> <message>',
    text: 'send a message to an agent, a channel or everyone',
    load: async () => (await import('./commands/messages/send.ts')).send,
  },
  {
    name: 'outbox',
    text: 'messages that wait on this machine until their shared workspace can be reached: list, drop',
    isGroup: true,
    load: async () => (await import('./commands/messages/outbox.ts')).outbox,
  },
  {
    name: 'inbox',
    text: 'show what is unread, and mark it read',
    load: async () => (await import('./commands/messages/inbox.ts')).inbox,
  },
  {
    name: 'channels',
    alias: 'channel',
    text: 'list channels, or create, join, leave, remove one',
    isGroup: true,
    load: async () => (await import('./commands/channels.ts')).channels,
  },
  {
    name: 'tail',
    text: 'everything that happens from now on, until Ctrl-C',
    load: async () => (await import('./commands/events.ts')).tail,
  },
  {
    name: 'events',
    alias: 'event',
    text: 'what has happened: the newest events, or those after a number',
    load: async () => (await import('./commands/events.ts')).events,
  },
  {
    name: 'search',
    args: '<text>',
    text: 'find messages by their words',
    load: async () => (await import('./commands/messages/messages.ts')).search,
  },
  {
    name: 'thread',
    alias: 'threads',
    args: '<id>',
    text: 'the messages of a thread, oldest first',
    load: async () => (await import('./commands/messages/messages.ts')).thread,
  },
  {
    name: 'receipts',
    alias: 'receipt',
    args: '<id>',
    text: 'for each recipient of a message: stored, offered, read',
    load: async () => (await import('./commands/messages/messages.ts')).receipts,
  },
  {
    name: 'react',
    args: '<id> <emoji>',
    text: 'put an emoji on a message',
    load: async () => (await import('./commands/messages/messages.ts')).react,
  },
]

export const agentCommands: CatalogRow[] = [
  {
    name: 'who',
    text: 'the agents that are connected, and what they do',
    load: async () => (await import('./commands/agents.ts')).who,
  },
  {
    name: 'agents',
    alias: 'agent',
    text: 'the agents that are connected, as who shows them; with the key of the workspace: revoke, retire',
    isGroup: true,
    load: async () => (await import('./commands/agents.ts')).agents,
  },
  {
    name: 'notices',
    alias: 'notice',
    text: 'be told once when an agent is idle, has ended or has answered: ask, list, drop',
    isGroup: true,
    load: async () => (await import('./commands/notices.ts')).notices,
  },
  {
    name: 'spawn',
    args: '<name> [args...]',
    text: 'start an agent CLI as a worker',
    load: async () => (await import('./commands/workers/workers.ts')).spawn,
  },
  {
    name: 'workers',
    alias: 'worker',
    text: 'the programs that run for agents, with their status',
    load: async () => (await import('./commands/workers/workers.ts')).workers,
  },
  {
    name: 'attach',
    args: '<name>',
    text: "see a worker's terminal and type into it",
    load: async () => (await import('./commands/workers/terminal.ts')).attach,
  },
  {
    name: 'logs',
    alias: 'log',
    args: '<name>',
    text: "what a worker's terminal shows",
    load: async () => (await import('./commands/workers/terminal.ts')).logs,
  },
  {
    name: 'pause',
    args: '<name>',
    text: 'pause a worker; its messages wait',
    load: async () => (await import('./commands/workers/workers.ts')).pause,
  },
  {
    name: 'resume',
    args: '<name>',
    text: 'let a paused worker go on; it gets the messages that waited',
    load: async () => (await import('./commands/workers/workers.ts')).resume,
  },
  {
    name: 'interrupt',
    args: '<name>',
    text: 'stop the current turn of a worker; its program goes on running, and its messages wait',
    load: async () => (await import('./commands/workers/workers.ts')).interrupt,
  },
  {
    name: 'release',
    args: '<name>',
    text: 'end a worker and all it started',
    load: async () => (await import('./commands/workers/workers.ts')).release,
  },
  {
    name: 'retry',
    args: '<name...>',
    text: 'start exited workers again with their tasks, or ended runs with their contracts',
    load: async () => (await import('./commands/workers/retry.ts')).retry,
  },
]

export const workCommands: CatalogRow[] = [
  {
    name: 'runs',
    alias: 'run',
    text: 'give an agent a contract, see its status, take its result: start, status, stop, payload',
    isGroup: true,
    load: async () => (await import('./commands/runs/runs.ts')).runs,
  },
  {
    name: 'diff',
    args: '<name>',
    text: 'what a worker has changed in its worktree',
    load: async () => (await import('./commands/workers/worktrees.ts')).diff,
  },
  {
    name: 'merge',
    args: '<name>',
    text: "merge a worker's branch into this checkout",
    load: async () => (await import('./commands/workers/worktrees.ts')).merge,
  },
  {
    name: 'sweep',
    args: '[name]',
    text: 'remove the worktrees that workers left and that hold no work',
    load: async () => (await import('./commands/workers/worktrees.ts')).sweep,
  },
  {
    name: 'claims',
    alias: 'claim',
    text: 'list the files that agents are editing; claim and drop some by hand: add, drop',
    isGroup: true,
    load: async () => (await import('./commands/claims.ts')).claims,
  },
  {
    name: 'needs',
    alias: 'need',
    text: 'all that waits for your answer: list, dismiss',
    isGroup: true,
    load: async () => (await import('./commands/needs.ts')).needs,
  },
  {
    name: 'approvals',
    alias: 'approval',
    text: 'what agents may do only once a person allows it, for all CLIs in one list: list, show',
    isGroup: true,
    load: async () => (await import('./commands/approvals.ts')).approvals,
  },
  {
    name: 'approve',
    args: '<id>',
    text: 'say yes to an approval; only a person at a terminal can, or an agent under a delegation',
    load: async () => (await import('./commands/approvals.ts')).approve,
  },
  {
    name: 'deny',
    args: '<id> [words...]',
    text: 'say no to an approval, with a few words for the agent',
    load: async () => (await import('./commands/approvals.ts')).deny,
  },
  {
    name: 'spend',
    text: 'the tokens that agents have used, and their cost where it is known: by agent, run, model or day',
    load: async () => (await import('./commands/spend.ts')).spend,
  },
  {
    name: 'actions',
    alias: 'action',
    text: 'list what programs offer, or invoke one',
    isGroup: true,
    load: async () => (await import('./commands/actions.ts')).actions,
  },
  {
    name: 'lift',
    text: 'several sessions with a role each, and a relay of their own: PM, Dev-A and Dev-B',
    load: async () => (await import('./commands/lift/lift.ts')).lift,
  },
]
