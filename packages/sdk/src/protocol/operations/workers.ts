// Operations on workers: programs that the daemon runs for an agent, each in a terminal of its own.

import { z } from 'zod'
import { limits } from '../limits.ts'
import { AgentName, AgentRole, Body, Label, ModelName, Worker, workerControls } from '../words.ts'
import { WorktreeChanges } from '../worktrees.ts'
import type { OperationTable } from './rule.ts'

const named = z.object({ name: AgentName })
const words = z.array(z.string().max(4_000)).max(200)
const reason = Label.optional()
/** A worker's name, or the branch of its git worktree if workers of that name have left several worktrees. */
const tree = Label.min(1)
const cells = z.number().int().min(2).max(1_000)

export const workerOperations = {
  'worker.spawn': {
    kind: 'command',
    who: 'agent',
    network: 'spawn',
    summary: 'Start a worker of yours; returns once its program runs, or fails with its last screen.',
    input: named.extend({
      /** The program to start: `claude`, `codex`, or another CLI that the relay knows; or `plain`, for any program, given in `command`. */
      cli: Label.min(1),
      command: words.min(1).optional(),
      /**
       * How the daemon talks to the program. acp: by the Agent Client Protocol on its stdin and stdout. pty: by typing into its terminal, even if it can speak
       * ACP. Unset: the best way that the relay knows for this program.
       */
      control: z.enum(workerControls).optional(),
      /** Additional arguments for the CLI's command line. */
      args: words.optional(),
      task: Body.optional(),
      model: ModelName.optional(),
      /** With `lead`, the worker gets the messages that others send to `project:lead`. */
      role: AgentRole.optional(),
      /**
       * The working directory of the worker. Unset: the parent's directory if the parent is a worker or a run, else the project's directory, else the working
       * directory of the parent's own program. A relative path is relative to that default.
       */
      cwd: z.string().min(1).max(4_000).optional(),
      /** Whether the worker gets a git worktree and a branch of its own, made from the commit that is checked out in its working directory. */
      worktree: z.boolean().optional(),
    }),
    output: z.object({
      worker: Worker,
      /** Something that the caller should know, for instance that the program's own MCP configuration was left unchanged. */
      note: z.string().optional(),
    }),
  },
  'worker.retry': {
    kind: 'command',
    who: 'agent',
    network: 'spawn',
    summary:
      'Give a worker that has exited its task again: the same program in the same place, for the same parent. Returns as worker.spawn does.',
    /** `continue`: whether the program continues its earlier conversation with the model, instead of beginning a new one. */
    input: named.extend({ continue: z.boolean().optional() }),
    output: z.object({ worker: Worker, note: z.string().optional() }),
  },
  'worker.release': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary: 'End a worker: politely, then by force, with everything it started.',
    input: named.extend({ reason }),
    /** `note`: where the worker's work is. Set if its git worktree was kept because it contains work. */
    output: z.object({ worker: Worker, note: z.string().optional() }),
  },
  'worker.pause': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary: 'Pause a worker; its messages wait.',
    input: named,
    output: z.object({ worker: Worker }),
  },
  'worker.resume': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary: 'Let a paused worker go on; the messages that waited reach it as one text.',
    input: named,
    output: z.object({ worker: Worker }),
  },
  'worker.interrupt': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary:
      'Interrupt the turn that a worker is in: the program goes on running and becomes idle, approvals that the turn has asked for are closed, and its messages wait for the next turn.',
    input: named,
    /** `note`: set if the turn has not ended within a few seconds, and says so. */
    output: z.object({ worker: Worker, note: z.string().optional() }),
  },
  'worker.list': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary:
      'Your workers that run; all that ever ran, newest first, if asked for. Of everybody for people and the key holder.',
    /** `whole`: whether to return each worker's whole task instead of the task's first line, as far as the tasks fit into one answer (4 MiB). */
    input: z.object({ all: z.boolean().optional(), whole: z.boolean().optional() }),
    output: z.object({
      /** `task`: the first line of the worker's task, or the whole task if `whole` is set. */
      workers: z.array(Worker.extend({ task: z.string().optional() })),
    }),
  },
  'worker.changes': {
    kind: 'query',
    who: 'anyone',
    network: 'token',
    summary: 'What your workers have changed in their worktrees; also of those that have exited and left theirs.',
    input: z.object({ name: tree.optional() }),
    output: z.object({
      /** `error`: why git could not say what has changed. */
      workers: z.array(Worker.extend({ changes: WorktreeChanges.optional(), error: z.string().optional() })),
    }),
  },
  'worker.diff': {
    kind: 'query',
    who: 'agent',
    network: 'token',
    summary: "All that a worker has changed in its worktree, committed or not, as git's diff.",
    input: z.object({ name: tree }),
    output: z.object({ worker: Worker, text: z.string(), isCut: z.boolean() }),
  },
  'worker.sweep': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary:
      'Remove worktrees that exited workers left and that hold no work. With `discard`, which only people may set: remove the named one with all its work.',
    input: z
      .object({ name: tree.optional(), discard: z.boolean().optional() })
      .refine(({ name, discard }) => !discard || name, {
        message: 'discard needs a name',
      }),
    output: z.object({ removed: z.array(Worker), kept: z.array(Worker.extend({ why: z.string() })) }),
  },
  'worker.screen': {
    kind: 'query',
    who: 'agent',
    network: 'token',
    summary:
      "The text on a worker's screen, or its last screen if it has exited: for its parent, people, and those whom the policy names.",
    input: named.extend({ lines: z.number().int().min(1).max(10_000).optional() }),
    output: z.object({
      text: z.string(),
      /** How the worker's program ended. Unset while it runs. */
      exited: z.string().optional(),
    }),
  },
  'worker.follow': {
    kind: 'watch',
    who: 'agent',
    network: 'token',
    summary: "A worker's terminal: what it has printed so far, then what it prints (EVENT).",
    input: named,
    /** `isPast`: whether the terminal printed the data before the watch began. */
    output: z.object({ data: z.string(), isPast: z.boolean().optional() }),
  },
  'worker.type': {
    kind: 'command',
    who: 'agent',
    network: 'key',
    summary: "Type into a worker's terminal, as a person at its keyboard would.",
    input: named.extend({ data: z.string().min(1).max(limits.keysBytesMax) }),
    output: z.object({}),
  },
  'worker.resize': {
    kind: 'command',
    who: 'agent',
    network: 'token',
    summary: "Give a worker's terminal another size.",
    input: named.extend({ cols: cells, rows: cells }),
    output: z.object({}),
  },
} satisfies OperationTable
