// The part of the catalogue that is about workers: hiring programs, seeing them, and letting them go.

import type { CatalogRow } from './command.ts'

export const workers: CatalogRow[] = [
  {
    name: 'spawn',
    args: '<name> [args...]',
    text: 'start an agent CLI as a worker; arguments after -- are passed to it',
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
    text: "see a worker's terminal and type into it; Ctrl-] leaves it running",
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
    text: 'stop a worker where it is; its messages wait',
    load: async () => (await import('./commands/workers/workers.ts')).pause,
  },
  {
    name: 'resume',
    args: '<name>',
    text: 'let a paused worker go on; it gets the messages that waited',
    load: async () => (await import('./commands/workers/workers.ts')).resume,
  },
  {
    name: 'release',
    args: '<name>',
    text: 'end a worker and all it started',
    load: async () => (await import('./commands/workers/workers.ts')).release,
  },
  {
    name: 'retry',
    args: '<name>',
    text: 'give a worker that has exited its task again, or the contract of a run that has ended',
    load: async () => (await import('./commands/workers/retry.ts')).retry,
  },
]
