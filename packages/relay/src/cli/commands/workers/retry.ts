// `retry`: gives the task of a worker that has exited to a new worker, in a new conversation or in the former one; or gives the contract of a run that has
// ended again.

import type { RelayClient } from '@agent-relay/sdk'
import { type CliCommand, type CliOptions, type CommandContext, CommandError, exitCodes } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { reportRunStart } from '../runs/start.ts'
import { reportSpawned } from './workers.ts'

const retryOptions = {
  continue: {
    flags: '--continue',
    text: "go on with the worker's conversation, where its program can open it again (claude, codex, opencode, and many over ACP)",
  },
} satisfies CliOptions

export const retry: CliCommand<typeof retryOptions> = {
  argumentKind: 'agents',
  options: retryOptions,
  examples: [
    'agent-relay retry Fixer',
    'agent-relay retry Fixer Tester --continue',
    'agent-relay retry run_01kabc --json',
  ],
  run,
}

async function run(context: CommandContext<typeof retryOptions>): Promise<void> {
  await withClient(context, 'agent', async ({ client }) => {
    for (const name of context.args) await retryOne(context, client, name)
  })
}

async function retryOne({ options, print }: CommandContext<typeof retryOptions>, client: RelayClient, name: string) {
  const again = await runOf(client, name)
  if (again === undefined)
    return reportSpawned(print, name, client.call('worker.retry', { name, continue: options.continue }))
  if (options.continue)
    throw new CommandError('A run has no conversation to go on with. Leave --continue out.', exitCodes.usage)
  await reportRunStart(client, print, await client.call('run.start', { again }))
}

/** Returns the id of the run with this id, or whose agent has this name; undefined if the name is a worker's or unknown. */
async function runOf(client: RelayClient, name: string): Promise<string | undefined> {
  const [found] = (await client.call('run.status', { runs: [name] })).runs
  // The daemon lists a worker as a run, with the worker's name as its id.
  if (!found || 'error' in found || found.id === found.agent) return undefined
  return found.id
}
