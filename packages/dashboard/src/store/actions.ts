// The actions (typed functions) that programs offer, and the latest calls of actions: one entry for each call, with its outcome.

import type { ActionInfo, EventOf, RelayEvent } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { lastSeq, onEvents } from './events.ts'

export interface ActionCall {
  id: string
  action: string
  caller: string
  /** The number of the journal entry that began the call. */
  seq: number
  ts: string
  inputBytes: number
  /** The outcome of the call. Unset while the call is running. */
  outcome?: { isOk: boolean; durationMs: number; outputBytes: number; code?: string; message?: string }
}

export const actions = new Cell<readonly ActionInfo[] | undefined>(undefined)
/** The latest action calls, newest first. */
export const latestActionCalls = new Cell<readonly ActionCall[]>([])

const shownCallsMax = 200
const callTypes = ['action.invoked', 'action.completed']
const pageEvents = 1_000
/** How far back in the journal the latest calls are searched, in entries; each longer search is made only if the one before found too few calls. */
const lookBacks = [1_000, 5_000, 20_000]

/** Keeps the actions and their latest calls up to date while the view "Actions" is open. */
export function followActions(): () => void {
  /** Events that arrive during the first request, whose answer may be older than these events. */
  const news: RelayEvent[] = []
  let isFollowed = true
  ask()
  latest(lastSeq.value).then(
    (events) => isFollowed && latestActionCalls.set(joined([], [...events, ...news])),
    () => {},
  )
  const stops = [
    connection.listen(() => connection.value.phase === 'up' && ask()),
    onEvents((events) => {
      const about = events.filter(({ type }) => type.startsWith('action.'))
      if (about.length === 0) return
      news.push(...about)
      latestActionCalls.set(joined(latestActionCalls.value, about))
      if (about.some(({ type }) => !callTypes.includes(type))) ask()
    }),
  ]
  return () => {
    isFollowed = false
    for (const stop of stops) stop()
  }
}

function ask(): void {
  client.call('action.list', {}).then(
    (answer) => actions.set(answer.actions),
    () => {},
  )
}

/** Finds the newest calls by searching further and further back, because the daemon lists events from a given number on, oldest first. */
async function latest(last: number): Promise<RelayEvent[]> {
  let found: RelayEvent[] = []
  for (const back of lookBacks) {
    found = await after(last - back)
    if (found.filter(({ type }) => type === 'action.invoked').length >= shownCallsMax || back >= last) break
  }
  return found
}

async function after(since: number): Promise<RelayEvent[]> {
  const found: RelayEvent[] = []
  for (let at = Math.max(0, since); ; ) {
    const { events, next } = await client.call('event.list', { since: at, types: callTypes, limit: pageEvents })
    found.push(...events)
    if (next === at) return found
    at = next
  }
}

/** Adds events to the list of calls. An event that comes twice changes nothing. The outcome of a call whose beginning is not in the list is left out. */
function joined(before: readonly ActionCall[], events: readonly RelayEvent[]): ActionCall[] {
  const byId = new Map(before.toReversed().map((call) => [call.id, call]))
  for (const event of events) {
    if (event.type !== 'action.invoked' && event.type !== 'action.completed') continue
    const { id } = event.fact
    const known = byId.get(id)
    if (event.type === 'action.invoked' && !known) byId.set(id, callOf(event))
    else if (event.type === 'action.completed' && known) byId.set(id, { ...known, outcome: outcomeOf(event) })
  }
  return [...byId.values()].slice(-shownCallsMax).toReversed()
}

function callOf({ seq, ts, fact }: EventOf<'action.invoked'>): ActionCall {
  const { id, action, caller, inputBytes } = fact
  return { id, action, caller, seq, ts, inputBytes }
}

function outcomeOf({ fact }: EventOf<'action.completed'>): ActionCall['outcome'] {
  const { ok: isOk, durationMs, outputBytes = 0, code, message = '' } = fact
  return { isOk, durationMs, outputBytes, ...(code === undefined ? {} : { code, message }) }
}
