// `retry`: gives a worker that has exited its task again, or a run that has ended its contract.

import type { RelayClient } from '@agent-relay/sdk'
import type { CliCommand, CommandContext } from '../../command.ts'
import { withClient } from '../../connection.ts'
import { reportRunStart } from '../runs/start.ts'
import { reportSpawned } from './workers.ts'

export const retry: CliCommand = {
  argumentKind: 'agents',
  examples: ['agent-relay retry Fixer', 'agent-relay retry run_01kabc --json'],
  run,
}

async function run(context: CommandContext): Promise<void> {
  const { args, print } = context
  const name = args[0] as string
  await withClient(context, 'agent', async ({ client }) => {
    const again = await runOf(client, name)
    if (again === undefined) await reportSpawned(print, name, client.call('worker.retry', { name }))
    else await reportRunStart(client, print, await client.call('run.start', { again }))
  })
}

/** The run that `name` means, by its id or its agent's name; undefined if a worker is meant, or nothing that is known. */
async function runOf(client: RelayClient, name: string): Promise<string | undefined> {
  const [found] = (await client.call('run.status', { runs: [name] })).runs
  // A worker appears as a run whose id is the worker's name.
  if (!found || 'error' in found || found.id === found.agent) return undefined
  return found.id
}
