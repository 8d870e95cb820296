// `spawn`, `release`, `pause`, `resume`, `interrupt`, `workers`: start, stop, end and list the programs that work for agents. `logs` and `attach` are in
// terminal.ts.

import { resolve } from 'node:path'
import { clisWith, defaultCli, listText } from '@agent-relay/sdk/internal/clis'
import { openQuoteOf, splitCommandLine } from '@agent-relay/sdk/internal/command-words'
import { spendText } from '@agent-relay/sdk/internal/spend-text'
import { lastHeardText } from '@agent-relay/sdk/internal/unreachable-text'
import type { OutputOf, Worker } from '@agent-relay/sdk/protocol'
import {
  type CliCommand,
  type CliOptions,
  type CommandContext,
  CommandError,
  exitCodes,
  type OptionValues,
} from '../../command.ts'
import { withClient } from '../../connection.ts'
import type { Printer, TableColumn } from '../../print.ts'
import { readMessageFromStdin } from '../../stdin.ts'
import { ageText, oneLine, withTilde } from '../../text.ts'
import { branchText, listWorkerChanges, type WorkerChanges } from './worktrees.ts'

const clis = clisWith('worker').map(({ name }) => name)

const spawnOptions = {
  cli: {
    flags: '--cli <name>',
    text: `${listText(clis, 'or')} (${defaultCli}); plain is what --command means`,
    words: [...clis, 'plain'],
  },
  task: { flags: '--task <text>', text: 'what it should do; - reads it from stdin' },
  model: { flags: '--model <name>', text: 'the model to use' },
  cwd: { flags: '--cwd <path>', text: 'where it works (this directory)' },
  worktree: { flags: '--worktree', text: 'in a git worktree of its own, on the branch relay/NAME' },
  shared: { flags: '--shared', text: 'in the checkout of the directory, even if the policy says worktree' },
  command: {
    flags: '--command <line>',
    text: 'any other program, e.g. "aider --yes"; its words are split without a shell',
  },
  acp: { flags: '--acp <line>', text: 'any agent that speaks ACP, e.g. "my-agent --acp"; split like --command' },
  terminal: { flags: '--terminal', text: 'in a terminal, also a CLI that speaks ACP' },
} satisfies CliOptions
type SpawnOptions = OptionValues<typeof spawnOptions>

export const spawn: CliCommand<typeof spawnOptions> = {
  options: spawnOptions,
  examples: [
    'agent-relay spawn Fixer --cli claude --task "Fix the failing test in parser.test.ts"',
    'agent-relay spawn Fixer --worktree --task "Fix the failing test in parser.test.ts"',
    'agent-relay spawn Looker --cli codex --cwd ../docs --task - < task.md',
    'agent-relay spawn Pair --command "aider --yes-always"',
    'agent-relay spawn Looker --acp "my-agent --acp" --task "Look for dead code"',
    'agent-relay spawn Own --cli claude -- --mcp-config mine.json',
  ],
  run: runSpawn,
}

async function runSpawn(context: CommandContext<typeof spawnOptions>): Promise<void> {
  const { args, passedArgs, options, print, cwd } = context
  const [name = '', ...words] = args
  const rest = words.splice(Math.max(0, words.length - passedArgs.length))
  refuseStrayWords(words)
  const { cli, command, control } = programOf(options)
  const { model } = options
  const task = options.task === '-' ? await readMessageFromStdin(print) : options.task
  const input = {
    name,
    cli,
    command,
    control,
    args: rest.length > 0 ? rest : undefined,
    task,
    model,
    cwd: cwd === undefined ? options.cwd : resolve(cwd, options.cwd ?? '.'),
    worktree: options.shared ? false : options.worktree,
  }
  await withClient(context, 'agent', async ({ client }) => {
    await reportSpawned(print, name, client.call('worker.spawn', input))
  })
}

/** Throws if there are words without an option: a task without `--task` would be passed to the CLI as an argument. */
function refuseStrayWords([word]: string[]): void {
  if (word === undefined) return
  const text = `"${oneLine(word)}" belongs to no option. The task is --task "…"; arguments for the CLI itself go after --.`
  throw new CommandError(text, exitCodes.usage)
}

/** Prints that a worker was started. */
export async function reportSpawned(
  print: Printer,
  name: string,
  hired: Promise<OutputOf<'worker.spawn'>>,
): Promise<void> {
  const answer = await print.during(`starting ${oneLine(name)}`, hired)
  if (print.isJson) return void (await print.json(answer))
  await print.line(print.typed(startedLine(answer)))
  if (answer.note !== undefined) print.say(oneLine(answer.note))
}

/** Returns which program to start, and whether to speak with it by ACP or its terminal. */
function programOf({ cli, command, acp, terminal }: SpawnOptions) {
  const line = acp ?? command
  const flag = acp === undefined ? '--command' : '--acp'
  if (command !== undefined && acp !== undefined)
    throw new CommandError('--command or --acp: give only one.', exitCodes.usage)
  if (acp !== undefined && terminal) throw new CommandError('--acp or --terminal: give only one.', exitCodes.usage)
  if (line !== undefined && cli !== undefined && (acp !== undefined || cli !== 'plain'))
    throw new CommandError(`--cli ${cli} names a program, and ${flag} another: give only one.`, exitCodes.usage)
  if (line === undefined && cli === 'plain')
    throw new CommandError('Which program? For instance: --command "aider --yes-always"', exitCodes.usage)
  const control = acp === undefined ? (terminal ? ('pty' as const) : undefined) : ('acp' as const)
  if (line === undefined) return { cli: cli ?? defaultCli, control }
  return { cli: acp === undefined ? 'plain' : 'acp', command: splitCommandWords(line, flag), control }
}

/** Splits the text of --command into words as a shell would by its quotes and backslashes. No shell runs, so nothing in the text is executed. */
export function splitCommandWords(line: string, flag = '--command'): string[] {
  const [words, quote] = [splitCommandLine(line), openQuoteOf(line)]
  if (quote !== undefined) throw new CommandError(`${flag}: the quote ${quote} is never closed.`, exitCodes.usage)
  if (words.length === 0) throw new CommandError(`${flag} names no program.`, exitCodes.usage)
  return words
}

function startedLine({ worker }: OutputOf<'worker.spawn'>): string {
  const { name, cli, pid, parent, worktree, reason = '' } = worker
  const facts = [cli, pid === undefined ? reason : `pid ${pid}`, ...(worktree ? [`branch ${worktree.branch}`] : [])]
  const shown = `${oneLine(name)} started (${facts.map(oneLine).join(', ')}). It reports to ${oneLine(parent)}.`
  return `${shown} Watch: agent-relay attach ${oneLine(name)}`
}

const releaseOptions = { reason: { flags: '--reason <text>', text: 'why, for the record' } } satisfies CliOptions

export const release: CliCommand<typeof releaseOptions> = {
  argumentKind: 'agents',
  options: releaseOptions,
  examples: ['agent-relay release Fixer', 'agent-relay release Fixer --reason "tests pass"'],
  run: (context) => requestOfWorker(context, 'worker.release', 'released'),
}

export const pause: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay pause Fixer'],
  run: (context) => requestOfWorker(context, 'worker.pause', 'paused'),
}

export const resume: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay resume Fixer'],
  run: (context) => requestOfWorker(context, 'worker.resume', 'resumed'),
}

export const interrupt: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay interrupt Fixer'],
  run: (context) => requestOfWorker(context, 'worker.interrupt', 'interrupted'),
}

async function requestOfWorker(
  context: CommandContext<typeof releaseOptions>,
  op: 'worker.release' | 'worker.pause' | 'worker.resume' | 'worker.interrupt',
  done: string,
): Promise<void> {
  const { args, options, print } = context
  const name = args[0] as string
  await withClient(context, 'agent', async ({ client }) => {
    const input = op === 'worker.release' ? { name, reason: options.reason } : { name }
    const answer = await print.during(`asking ${oneLine(name)}`, client.call(op, input))
    const note = 'note' in answer ? answer.note : undefined
    if (print.isJson) await print.json(answer)
    else {
      const named = oneLine(name)
      // The daemon's note says what is left: after a release the work of the worker, after an interrupt the turn that goes on.
      const next =
        op === 'worker.release'
          ? `To see it: agent-relay diff ${named}`
          : `To end the worker: agent-relay release ${named}`
      const left = note === undefined ? '' : ` ${oneLine(note)} ${next}`
      await print.line(print.typed(`${named} ${done}.${left}`))
    }
  })
}

const workersOptions = { all: { flags: '--all', text: 'include those that have exited' } } satisfies CliOptions

export const workers: CliCommand<typeof workersOptions> = {
  options: workersOptions,
  examples: ['agent-relay workers', 'agent-relay workers --all --json'],
  run: runList,
}

async function runList(context: CommandContext<typeof workersOptions>): Promise<void> {
  const { options, print, env } = context
  await withClient(context, 'anyone', async ({ client }) => {
    const listed = (await client.call('worker.list', { all: options.all, whole: print.isJson })).workers
    const trees = await listWorkerChanges(client)
    // Exited workers with a worktree are listed too, since somebody has to look at what they left.
    const left = [...trees.values()].filter(({ id }) => !listed.some((each) => each.id === id))
    const workers: WorkerChanges[] = [
      ...listed.map((worker) => ({ ...(trees.get(worker.id) ?? worker), task: worker.task })),
      ...left,
    ]
    if (print.isJson) return void (await print.json({ workers }))
    if (workers.length === 0) {
      const more = options.all ? '' : ' Those that have exited: agent-relay workers --all.'
      return print.say(`No worker runs.${more} To start one: agent-relay spawn NAME --cli claude --task "…"`)
    }
    // These columns are shown only if a worker has a value in them.
    const more: [TableColumn, (worker: WorkerChanges) => string][] = [
      ...(workers.some(({ machine }) => machine !== undefined) ? [machineColumn] : []),
      ...(workers.some(({ spend }) => spend) ? [spentColumn] : []),
      ...(trees.size > 0 ? [branchColumn] : []),
    ]
    await print.table(
      [...listColumns, ...more.map(([column]) => column)],
      workers.map((worker) => [...row(worker, env.HOME), ...more.map(([, text]) => text(worker))]),
    )
  })
}

const machineColumn: [TableColumn, (worker: Worker) => string] = [
  { head: 'MACHINE' },
  ({ machine }) => oneLine(machine ?? 'this one'),
]
const branchColumn: [TableColumn, (worker: WorkerChanges) => string] = [{ head: 'BRANCH', mayShrink: true }, branchText]
const spentColumn: [TableColumn, (worker: Worker) => string] = [
  { head: 'SPENT', dropRank: 7 },
  ({ spend }) => (spend ? spendText(spend) : ''),
]

const listColumns: TableColumn[] = [
  { head: 'NAME' },
  { head: 'CLI', dropRank: 1 },
  { head: 'CONTROL', dropRank: 6 },
  { head: 'STATE', mayShrink: true },
  { head: 'PARENT', dropRank: 2 },
  { head: 'PID', dropRank: 4 },
  { head: 'SINCE', dropRank: 3 },
  { head: 'DIRECTORY', mayShrink: true, dropRank: 6 },
  { head: 'TASK', mayShrink: true, dropRank: 5 },
]

function row(worker: Worker & { task?: string }, home: string | undefined): string[] {
  const { name, cli, control, parent, pid, startedAt, cwd, task = '' } = worker
  const started = [String(pid ?? '–'), ageText(startedAt), withTilde(cwd, home)]
  const cells = [name, cli, control, workerStateText(worker), parent, ...started, task]
  return cells.map(oneLine)
}

/** Returns a worker's state as text, such as `blocked: permission dialog`, `exited: its program ended with code 1` or `idle`. */
export function workerStateText({
  status,
  reason,
  machineSeenAt,
}: Pick<Worker, 'status' | 'reason' | 'machineSeenAt'>): string {
  if (status === 'unreachable') return `not known: its machine cannot be reached (${lastHeardText(machineSeenAt)})`
  return reason === undefined ? status : `${status}: ${reason}`
}
