// `runs start`: gives a contract (a text that says what to do) to an agent, and with --wait prints how the run ends.

import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RelayClient } from '@agent-relay/sdk'
import { runHarnesses } from '@agent-relay/sdk/internal/clis'
import { sizeText } from '@agent-relay/sdk/internal/size-text'
import type { HarnessName, OutputOf, Run, Worker } from '@agent-relay/sdk/protocol'
import { daemonName, limits } from '@agent-relay/sdk/wire'
import { type CliOptions, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { withClient } from '../../connection.ts'
import type { Printer } from '../../print.ts'
import { readFileOrStdin } from '../../stdin.ts'
import { cleanText, oneLine } from '../../text.ts'
import { lastPreviewLine, stopReasonText } from './lines.ts'

/** Interval in ms at which a waiting command asks for the run's status. */
const statusLookMs = 250
/** Time in ms to wait for a run to begin: a program that cannot run has ended within `spawnLiveMs`. */
const beginMs = 2 * limits.spawnLiveMs

const startOptions = {
  contract: { flags: '--contract <text>', text: 'what it should do and hand over' },
  file: { flags: '-f, --file <path>', text: 'read it from a file; - reads it from stdin' },
  cli: {
    flags: '--cli <name>',
    text: 'the program that carries the run out (loop; without a model, the first CLI on PATH)',
    choices: runHarnesses,
  },
  harness: {
    flags: '--harness <name>',
    text: 'the older spelling of --cli',
    choices: runHarnesses,
    isHidden: true,
  },
  agent: { flags: '--agent <name>', text: 'the agent that carries out an external one' },
  model: { flags: '--model <name>', text: 'the model (else RELAY_MODEL)' },
  cwd: { flags: '--cwd <path>', text: 'its working directory (this one)' },
  worktree: { flags: '--worktree', text: 'a CLI works in a git worktree of its own' },
  wait: { flags: '--wait', text: 'wait until the run has ended, and print its summary' },
} satisfies CliOptions

export const start: NamedCommand<typeof startOptions> = {
  name: 'start',
  text: 'give an agent a contract; returns at once, or with --wait when the run has ended',
  options: startOptions,
  examples: [
    'agent-relay runs start --contract "List the flaky tests" --wait',
    'agent-relay runs start -f contract.md --cli claude --worktree',
  ],
  run: runStart,
}

async function runStart(context: CommandContext<typeof startOptions>): Promise<void> {
  const { options, print, cwd } = context
  const contract = await contractOf(context)
  const { cli: harness = options.harness, model, agent, worktree } = options
  const place = options.cwd === undefined ? cwd : resolve(cwd ?? '/', options.cwd)
  await withClient(context, 'agent', async ({ client }) => {
    const input = { contract, harness: harness as HarnessName | undefined, model, agent, cwd: place, worktree }
    await reportRunStart(client, print, await client.call('run.start', input), options.wait)
  })
}

/** Prints how a run has begun. With `isAwaited`, waits for its end and prints that. */
export async function reportRunStart(
  client: RelayClient,
  print: Printer,
  started: OutputOf<'run.start'>,
  isAwaited = false,
): Promise<void> {
  // The note is not printed for a loop: if it cannot begin, its failure is printed a moment later.
  if (started.note !== undefined && started.harness !== 'loop' && !print.isJson) print.say(started.note)
  print.progress(`starting ${started.agent}`)
  const run = await waitForBegin(client, started).finally(() => print.progress())
  if (isAwaited || run.status === 'stopped') await reportRunEnd(client, print, run)
  else await (print.isJson ? print.json(run) : print.line(print.typed(startedLine(run))))
}

/** Waits until the run works, or has failed at once because its model is not configured or its program is missing. */
async function waitForBegin(client: RelayClient, run: Run): Promise<Run> {
  if (run.harness === 'external') return run
  // The daemon handles commands in order: after the answer to this one, a loop that could not begin is marked as stopped.
  await client.call('inbox.read', { messages: [] })
  const lives = async () =>
    run.harness === 'loop' || (await client.call('worker.list', {})).workers.some((each) => isLive(each, run))
  for (const until = performance.now() + beginMs; ; await sleep(statusLookMs)) {
    const isLive = await lives()
    const now = await statusOf(client, run.id)
    if (isLive || isOver(now) || performance.now() > until) return now
  }
}

function isLive({ name, status }: Worker, { agent }: Run): boolean {
  return name === agent && status !== 'wished'
}

async function reportRunEnd(client: RelayClient, print: Printer, run: Run): Promise<void> {
  // Printed before the wait, since the person may not wait until the end.
  if (!print.isJson && !isOver(run)) print.say(startedLine(run))
  const ended = await waitForEnd(client, print, run)
  const { summary } = ended
  const text = print.isJson ? print.json(ended) : summary === undefined ? true : print.line(cleanText(summary))
  if (await text) await markSeen(client, ended)
  if (!print.isJson && ended.payloadSize !== undefined)
    print.say(`payload: ${sizeText(ended.payloadSize)}. To have it: agent-relay runs payload ${ended.id}`)
  if (ended.status !== 'completed')
    throw new CommandError(`${ended.id} stopped${stopReasonText(ended)}`, exitCodes.refused, { isPrintedAsJson: true })
}

const unreadable: Record<string, string> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'you may not read it',
}

async function contractOf({ options }: CommandContext<typeof startOptions>): Promise<string> {
  const { contract, file } = options
  if (contract !== undefined && file !== undefined)
    throw new CommandError('--contract and -f both say what it should do: give only one.', exitCodes.usage)
  if (contract !== undefined) return contract
  if (file === undefined) throw new CommandError('Say what it should do: --contract "...", or -f FILE', exitCodes.usage)
  try {
    return await readFileOrStdin(file, 'A contract', limits.contractBytesMax)
  } catch (error) {
    if (error instanceof CommandError) throw error
    const { code = '', message } = error as NodeJS.ErrnoException
    const why = unreadable[code] ?? message
    throw new CommandError(`-f ${oneLine(file)}: ${why}.`, exitCodes.usage)
  }
}

async function waitForEnd(client: RelayClient, print: Printer, begun: Run): Promise<Run> {
  const from = performance.now()
  for (let run = begun; ; await sleep(statusLookMs)) {
    run = await statusOf(client, begun.id)
    if (isOver(run)) {
      print.progress()
      return run
    }
    print.progress(`${run.agent} works, ${Math.round((performance.now() - from) / 1000)} s ${lastPreviewLine(run)}`)
  }
}

/** Marks the daemon's message about this run's end as read, since the result was just printed. */
async function markSeen(client: RelayClient, { id }: Run): Promise<void> {
  const filter = { from: daemonName, unreadOnly: false, limit: limits.pageMessagesMax }
  const { messages } = await client.call('inbox.peek', filter)
  const told = messages.find(({ kind, body }) => kind === 'status' && body.startsWith(`Run ${id} `))
  if (told) await client.markRead(told.id)
}

async function statusOf(client: RelayClient, id: string): Promise<Run> {
  return (await client.call('run.status', { runs: [id] })).runs[0] as Run
}

function isOver({ status }: Run): boolean {
  return status !== 'running' && status !== 'ready'
}

function startedLine({ id, agent, harness, parent }: Run): string {
  return `${id} started: ${agent} (${harness}), for ${parent}. Its status: agent-relay runs status ${id}`
}
