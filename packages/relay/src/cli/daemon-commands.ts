// The commands about the daemon as people see them in `--help`, and the options of whatever starts one. What they do is in commands/.

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
    name: 'install-service',
    text: 'write a systemd user unit that runs it at every login; starts nothing',
    options: [
      { flags: '--dry-run', text: 'only print it' },
      { flags: '--remove', text: 'take it away again' },
      ...httpOptions,
    ],
    examples: ['agent-relay daemon install-service --dry-run', 'agent-relay daemon install-service'],
    isNobody: true,
    load: async () => (await import('./commands/service.ts')).installService,
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
