// `spawn`, `release`, `pause`, `resume`, `workers`: hiring programs and letting them go. Their terminals are terminal.ts's affair.

import { resolve } from 'node:path'
import type { OutputOf } from '@agent-relay/sdk'
import type { Worker } from '@agent-relay/sdk/protocol'
import { CommandError, exits, type Invocation, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import { readStdin } from '../stdin.ts'
import { ageOf, homely, oneLine } from '../text.ts'
import { splitWords } from '../words.ts'

export const spawn: Run = async (invocation) => {
  const { args, options, print, cwd } = invocation
  const [name, ...rest] = args as [string, ...string[]]
  const { cli = 'claude', model, command } = options
  if (command !== undefined && options.cli !== undefined)
    throw new CommandError('--cli names a harness, --command a program: give one of them.', exits.usage)
  const words = command === undefined ? undefined : splitWords(command)
  const task = options.task === '-' ? await readStdin(print) : options.task
  const input = {
    name,
    cli: words ? 'plain' : cli,
    command: words,
    args: rest.length > 0 ? rest : undefined,
    task,
    model,
    cwd: cwd === undefined ? options.cwd : resolve(cwd, options.cwd ?? '.'),
  }
  await withClient(invocation, 'agent', async ({ client }) => {
    const answer = await print.during(`starting ${oneLine(name)}`, client.call('worker.spawn', input))
    if (print.isJson) return void (await print.json(answer))
    await print.line(print.typed(startedLine(answer)))
    if (answer.note !== undefined) print.say(oneLine(answer.note))
  })
}

function startedLine({ worker: { name, cli, pid, parent } }: OutputOf<'worker.spawn'>): string {
  const shown = `${oneLine(name)} started (${oneLine(cli)}, pid ${pid}). It reports to ${oneLine(parent)}.`
  return `${shown} Watch: agent-relay attach ${oneLine(name)}`
}

export const release: Run = (invocation) => wish(invocation, 'worker.release', 'released')
export const pause: Run = (invocation) => wish(invocation, 'worker.pause', 'paused')
export const resume: Run = (invocation) => wish(invocation, 'worker.resume', 'resumed')

async function wish(
  invocation: Invocation,
  op: 'worker.release' | 'worker.pause' | 'worker.resume',
  done: string,
): Promise<void> {
  const { args, options, print } = invocation
  const name = args[0] as string
  await withClient(invocation, 'agent', async ({ client }) => {
    const input = op === 'worker.release' ? { name, reason: options.reason } : { name }
    const answer = await print.during(`asking ${oneLine(name)}`, client.call(op, input))
    if (print.isJson) await print.json(answer)
    else await print.line(`${oneLine(name)} ${done}.`)
  })
}

export const list: Run = async (invocation) => {
  const { options, print, env } = invocation
  await withClient(invocation, 'anyone', async ({ client }) => {
    const { workers } = await client.call('worker.list', { all: options.all })
    if (print.isJson) return void (await print.json({ workers }))
    if (workers.length === 0) {
      const more = options.all ? '' : ' Those that have exited: agent-relay workers --all.'
      return print.say(`No worker runs.${more} To start one: agent-relay spawn NAME --cli claude --task "…"`)
    }
    const heads = ['NAME', 'CLI', 'STATE', 'PARENT', 'PID', 'SINCE', 'DIRECTORY']
    const columns = heads.map((head) => ({ head, mayShrink: head === 'STATE' || head === 'DIRECTORY' }))
    await print.table(
      columns,
      workers.map((worker) => row(worker, env.HOME)),
    )
  })
}

function row(worker: Worker, home: string | undefined): string[] {
  const { name, cli, parent, pid, startedAt, cwd } = worker
  const cells = [name, cli, stateText(worker), parent, String(pid ?? '–'), ageOf(startedAt), homely(cwd, home)]
  return cells.map(oneLine)
}

/** `blocked: permission dialog`, `exited: its program ended with code 1`, `idle`. */
export function stateText({ status, reason }: Pick<Worker, 'status' | 'reason'>): string {
  return reason === undefined ? status : `${status}: ${reason}`
}
