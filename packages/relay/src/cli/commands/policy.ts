// `workspace policy`: what a workspace allows beyond what every agent may do.

import type { OutputOf } from '@agent-relay/sdk'
import { CommandError, exits, type Run } from '../command.ts'
import { withClient } from '../context.ts'
import type { Print } from '../print.ts'
import { oneLine } from '../text.ts'

type Policy = OutputOf<'workspace.policy'>

export const get: Run = async (invocation) => {
  await withClient(invocation, 'agent', async ({ client }) => {
    await show(invocation.print, await client.call('workspace.policy', {}))
  })
}

export const set: Run = async (invocation) => {
  const { options, print } = invocation
  const { writers, terminal } = options
  if (writers === undefined && terminal === undefined)
    throw new CommandError('Say what to change: --writers NAMES, --terminal AGENT=NAMES', exits.usage)
  const changes = terminal?.map(viewOf)
  await withClient(invocation, 'agent', async ({ client }) => {
    const before = changes && (await client.call('workspace.policy', {}))
    const views = Object.entries({ ...before?.terminal, ...Object.fromEntries(changes ?? []) })
    const policy = await client.call('workspace.set-policy', {
      ...(writers === undefined ? {} : { writers: writers === '*' ? '*' : namesOf(writers) }),
      ...(changes ? { terminal: Object.fromEntries(views.filter(([, whose]) => whose.length > 0)) } : {}),
    })
    await show(print, policy)
  })
}

/** `Lead=Bob,Cyd` */
function viewOf(text: string): [string, string[]] {
  const at = text.indexOf('=')
  if (at < 1)
    throw new CommandError(`--terminal takes AGENT=NAMES, for instance Lead=Bob,Cyd; not "${text}"`, exits.usage)
  return [text.slice(0, at), namesOf(text.slice(at + 1))]
}

function namesOf(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  return text === 'none' ? [] : names.filter((name) => name !== '')
}

async function show(print: Print, policy: Policy): Promise<void> {
  if (print.isJson) return void (await print.json(policy))
  const { writers, terminal } = policy
  const from = writers === '*' ? 'all workspaces of this daemon' : listed(writers)
  await print.table(
    [{ head: '' }, { head: '' }],
    [
      ['writers from', from],
      ...Object.entries(terminal).map(([agent, whose]) => [`${oneLine(agent)} sees`, `terminals of ${listed(whose)}`]),
    ],
  )
}

function listed(names: string[]): string {
  return names.length === 0 ? 'nowhere else' : names.map((name) => (name === '*' ? 'all' : oneLine(name))).join(', ')
}
