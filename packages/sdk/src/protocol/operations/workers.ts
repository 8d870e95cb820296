// Operations on workers: programs that the daemon runs for an agent in a terminal of their own.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { AgentName, Body, Label, ModelName, Worker } from '../words.ts'
import type { OperationTable } from './rule.ts'

const named = z.object({ name: AgentName })
const words = z.array(z.string().max(4_000)).max(200)
const reason = Label.optional()
const cells = z.number().int().min(2).max(1_000)

export const workerOperations = {
  'worker.spawn': {
    kind: 'command',
    who: 'agent',
    summary: 'Start a worker of yours; answered once its program has started and lives, or with its last screen.',
    input: named.extend({
      /** A harness: claude, codex, …; `plain` for any program, given by `command`. */
      cli: Label.min(1),
      command: words.min(1).optional(),
      /** The user's own arguments for the CLI. */
      args: words.optional(),
      task: Body.optional(),
      model: ModelName.optional(),
      /** Where it works; else where its parent does, if that is a worker, and else the workspace's directory. A relative path starts there too. */
      cwd: z.string().min(1).max(4_000).optional(),
    }),
    output: z.object({
      worker: Worker,
      /** Something the caller should know, such as that its own MCP configuration was left as it is. */
      note: z.string().optional(),
    }),
  },
  'worker.release': {
    kind: 'command',
    who: 'agent',
    summary: 'End a worker: politely, then by force, with everything it started.',
    input: named.extend({ reason }),
    output: z.object({ worker: Worker }),
  },
  'worker.pause': {
    kind: 'command',
    who: 'agent',
    summary: 'Stop a worker where it is; its mail waits.',
    input: named,
    output: z.object({ worker: Worker }),
  },
  'worker.resume': {
    kind: 'command',
    who: 'agent',
    summary: 'Let a paused worker go on; what waited reaches it as one text.',
    input: named,
    output: z.object({ worker: Worker }),
  },
  'worker.list': {
    kind: 'query',
    who: 'anyone',
    summary: 'The workers that run; all that ever ran, newest first, if asked for.',
    input: z.object({ all: z.boolean().optional() }),
    output: z.object({ workers: z.array(Worker) }),
  },
  'worker.screen': {
    kind: 'query',
    who: 'agent',
    summary:
      "The text on a worker's screen, or what stood there when it exited: for its parent, people, and those whom the policy names.",
    input: named.extend({ lines: z.number().int().min(1).max(10_000).optional() }),
    output: z.object({
      text: z.string(),
      /** How it ended, where its program runs no more. */
      exited: z.string().optional(),
    }),
  },
  'worker.follow': {
    kind: 'watch',
    who: 'agent',
    summary: "A worker's terminal: what it has printed so far, then what it prints (EVENT).",
    input: named,
    /** `isPast`: printed before the watch began. */
    output: z.object({ data: z.string(), isPast: z.boolean().optional() }),
  },
  'worker.type': {
    kind: 'command',
    who: 'agent',
    summary: "Type into a worker's terminal, as a person at its keyboard would.",
    input: named.extend({ data: z.string().min(1).max(limits.keysBytesMax) }),
    output: z.object({}),
  },
  'worker.resize': {
    kind: 'command',
    who: 'agent',
    summary: "Give a worker's terminal another size.",
    input: named.extend({ cols: cells, rows: cells }),
    output: z.object({}),
  },
} satisfies OperationTable
