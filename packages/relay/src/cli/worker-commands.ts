// The commands about workers as people see them in `--help`. What they do is in commands/workers.ts and commands/terminal.ts.

import type { CommandRule } from './rule.ts'

export const workerCommands: CommandRule[] = [
  {
    name: 'spawn',
    args: '<name> [args...]',
    text: 'start an agent CLI as a worker; what follows -- are its own arguments',
    options: [
      {
        flags: '--cli <name>',
        text: 'claude, codex, gemini, opencode or droid (claude)',
        words: ['claude', 'codex', 'gemini', 'opencode', 'droid'],
      },
      { flags: '--task <text>', text: 'what it shall do; - reads it from stdin' },
      { flags: '--model <name>', text: 'the model it shall use' },
      { flags: '--cwd <path>', text: 'where it works (this directory)' },
      { flags: '--command <line>', text: 'any other program, e.g. "aider --yes"; its words are split without a shell' },
    ],
    examples: [
      'agent-relay spawn Fixer --cli claude --task "Fix the failing test in parser.test.ts"',
      'agent-relay spawn Looker --cli codex --cwd ../docs --task - < task.md',
      'agent-relay spawn Pair --command "aider --yes-always"',
      'agent-relay spawn Own --cli claude -- --mcp-config mine.json',
    ],
    load: async () => (await import('./commands/workers.ts')).spawn,
  },
  {
    name: 'release',
    args: '<name>',
    takesAgent: true,
    text: 'end a worker and all it started',
    options: [{ flags: '--reason <text>', text: 'why, for the record' }],
    examples: ['agent-relay release Fixer', 'agent-relay release Fixer --reason "tests pass"'],
    load: async () => (await import('./commands/workers.ts')).release,
  },
  {
    name: 'pause',
    args: '<name>',
    takesAgent: true,
    text: 'stop a worker where it is; its mail waits',
    examples: ['agent-relay pause Fixer'],
    load: async () => (await import('./commands/workers.ts')).pause,
  },
  {
    name: 'resume',
    args: '<name>',
    takesAgent: true,
    text: 'let a paused worker go on; what waited reaches it',
    examples: ['agent-relay resume Fixer'],
    load: async () => (await import('./commands/workers.ts')).resume,
  },
  {
    name: 'workers',
    text: 'the programs that run for agents, and how they fare',
    options: [{ flags: '--all', text: 'those that have exited, too' }],
    examples: ['agent-relay workers', 'agent-relay workers --all --json'],
    load: async () => (await import('./commands/workers.ts')).list,
  },
  {
    name: 'logs',
    args: '<name>',
    takesAgent: true,
    text: "what stands in a worker's terminal",
    options: [
      { flags: '--lines <n>', text: 'so many lines (100)', number: [1, 10_000] },
      { flags: '--follow', text: 'and what it prints, until Ctrl-C' },
    ],
    examples: ['agent-relay logs Fixer', 'agent-relay logs Fixer --follow'],
    load: async () => (await import('./commands/terminal.ts')).logs,
  },
  {
    name: 'attach',
    args: '<name>',
    takesAgent: true,
    text: "see a worker's terminal and type into it; Ctrl-] leaves it running",
    examples: ['agent-relay attach Fixer'],
    load: async () => (await import('./commands/terminal.ts')).attach,
  },
]
