// `who`: the agents of a workspace, with what each is doing. It looks without taking part.

import type { Agent } from '@agent-relay/sdk/protocol'
import type { Run } from '../command.ts'
import { withClient } from '../context.ts'
import { ageOf, oneLine } from '../text.ts'
import { stateText } from './workers.ts'

export const run: Run = async (invocation) => {
  const { options, print } = invocation
  await withClient(invocation, 'anyone', async ({ client }) => {
    const { agents } = await client.call('agent.list', { includeOffline: true })
    const shown = options.all ? agents : agents.filter(({ status }) => status !== 'offline')
    if (print.isJson) return void (await print.json({ agents: shown }))
    if (shown.length > 0) {
      await print.table(
        [
          { head: 'NAME' },
          { head: 'TYPE' },
          { head: 'CLI', mayShrink: true },
          { head: 'STATE', mayShrink: true },
          { head: 'UNREAD', toTheRight: true },
          { head: 'LAST CALL' },
          { head: '', mayShrink: true },
        ],
        shown.map((agent) => row(agent)),
      )
    }
    const away = agents.length - shown.length
    if (agents.length === 0)
      print.say('Nobody has registered yet. An agent does so by its first call: agent-relay inbox --as Bob')
    else if (away > 0)
      print.say(`${shown.length === 0 ? 'Nobody is connected. ' : ''}${away} away: agent-relay who --all`)
  })
}

/** The daemon counts no further. */
const countedMax = 1_000

function row({ name, type, cli, status, waitingFor, unread, lastCallAt, parent, role, worker }: Agent): string[] {
  const program = worker && worker.status !== 'ready' ? stateText(worker) : status
  const state = waitingFor ? `waiting for ${waitingFor.agent}, ${ageOf(waitingFor.since)}` : program
  const notes = [...(role ? [role] : []), ...(parent === undefined ? [] : [`worker of ${parent}`])]
  const cells = [
    name,
    type,
    cli ?? '–',
    state,
    unread < countedMax ? String(unread) : `${countedMax}+`,
    lastCallAt ? ageOf(lastCallAt) : '–',
    notes.join(', '),
  ]
  return cells.map(oneLine)
}
