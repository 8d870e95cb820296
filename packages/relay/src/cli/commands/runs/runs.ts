// `runs`: lists runs and their states, ends one, and prints its payload. start.ts starts one.

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Run } from '@agent-relay/sdk/protocol'
import { type CliCommand, type CommandContext, CommandError, exitCodes, type NamedCommand } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { runBlock, runTable } from './lines.ts'
import { start } from './start.ts'

const status: NamedCommand = {
  name: 'status',
  args: '[ids...]',
  argumentKind: 'runs',
  text: 'the status of runs, by id or by name; all of them, newest first, if none is named',
  isDefault: true,
  examples: ['agent-relay runs', 'agent-relay runs status run_01kabc --json'],
  run: runStatus,
}

async function runStatus(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const whole = print.isJson || args.length > 0
    const asked =
      args.length > 0 ? client.call('run.status', { runs: args, whole }) : client.call('run.list', { whole })
    const told = await asked
    const unknown = told.runs.filter((each) => 'error' in each)
    const runs = told.runs.filter((each): each is Run => !('error' in each))
    if (print.isJson) await print.json(told)
    else if (args.length > 0) for (const run of runs) await print.line(runBlock(print, run))
    else if (runs.length === 0) print.say('No run yet. To start one: agent-relay runs start --contract "..."')
    else {
      const { columns, rows } = runTable(runs)
      await print.table(columns, rows)
    }
    if (unknown.length > 0)
      throw new CommandError(
        `${unknown.map(({ error }) => error).join('\n')} All runs: agent-relay runs`,
        exitCodes.refused,
        { isPrintedAsJson: true },
      )
  })
}

const stop: NamedCommand = {
  name: 'stop',
  args: '<id>',
  argumentKind: 'runs',
  text: 'end a run; its model gets no more requests',
  examples: ['agent-relay runs stop run_01kabc'],
  run: runStop,
}

async function runStop(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const run = await client.call('run.stop', { run: args[0] as string })
    if (print.isJson) await print.json(run)
    else await print.line(`${run.id} ${run.status === 'completed' ? 'was already completed.' : 'stopped.'}`)
  })
}

const payload: NamedCommand = {
  name: 'payload',
  args: '<id>',
  argumentKind: 'runs',
  text: 'print the payload that a run has handed over',
  examples: ['agent-relay runs payload run_01kabc > report.md'],
  run: runPayload,
}

export const runs: CliCommand = {
  examples: ['agent-relay runs start --contract "List the flaky tests" --wait', 'agent-relay runs'],
  commands: [start, status, stop, payload],
}

/** Prints only the bytes of the run's payload, unchanged. */
async function runPayload(context: CommandContext): Promise<void> {
  const { args, print } = context
  await withClient(context, 'agent', async ({ client }) => {
    const { gzip } = await client.call('run.payload', { run: args[0] as string })
    const bytes = await promisify(gunzip)(Buffer.from(gzip, 'base64'))
    if (print.isJson) await print.json({ payload: bytes.toString() })
    else await print.bytes(bytes)
  })
}
