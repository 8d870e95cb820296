// `tail` and `events`: what happens now, and what has happened. With the workspace key all of it, else what concerns the agent.

import { limits, type RelayEvent } from '@agent-relay/sdk'
import type { Run } from '../command.ts'
import { withClient } from '../context.ts'
import { awaitEnding } from '../ending.ts'
import { follow, sayLosses } from '../following.ts'
import { eventLine } from '../lines.ts'
import type { Print } from '../print.ts'

const shownDefault = 100

export const tail: Run = async (invocation) => {
  const { options, print } = invocation
  const ending = awaitEnding()
  await withClient(invocation, 'anyone', async ({ client, welcome }) => {
    sayLosses(client, print, ending)
    if (!print.isJson) print.say(`Following ${welcome.workspace}; Ctrl-C ends.`)
    await follow(client, { types: options.type }, (event) => show(print, event, false), ending)
  })
}

export const events: Run = async (invocation) => {
  const { options, print } = invocation
  const ending = options.follow ? awaitEnding() : undefined
  await withClient(invocation, 'anyone', async ({ client }) => {
    const { since = 0, type: types } = options
    if (ending) {
      sayLosses(client, print, ending)
      return follow(client, { since, types }, (event) => show(print, event, true), ending)
    }
    const limit = Math.min(options.limit ?? shownDefault, limits.eventsPageMax)
    const page = await client.call('event.list', { since, types, limit })
    if (print.isJson) return void (await print.json(page))
    for (const event of page.events) show(print, event, true)
    if (page.events.length === 0) print.say('No events.')
    else if (page.events.length >= limit) print.say(`To go on: agent-relay events --since ${page.next}`)
  })
}

function show(print: Print, event: RelayEvent, isNumbered: boolean): void {
  if (print.isJson) void print.json(event)
  else
    void print.line(
      isNumbered ? `${String(event.seq).padStart(6)} ${eventLine(print, event)}` : eventLine(print, event),
    )
}
