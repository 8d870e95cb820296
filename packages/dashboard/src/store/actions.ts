// The actions that are offered now, and the latest facts about their calls.

import type { ActionInfo, RelayEvent } from '@agent-relay/sdk/browser'
import { Cell } from './cell.ts'
import { client } from './connection.ts'
import { lastSeq, onEvents } from './events.ts'

export const actions = new Cell<readonly ActionInfo[] | undefined>(undefined)
/** Newest first. */
export const audit = new Cell<readonly RelayEvent[]>([])

const auditMax = 200
const callTypes = ['action.invoked', 'action.completed']
/** How far back a first look goes, in entries. */
const lookBack = 20_000

/** Follows while the view is open. */
export function followActions(): () => void {
  const ask = (): void =>
    void client.call('action.list', {}).then(
      (answer) => actions.set(answer.actions),
      () => {},
    )
  ask()
  const since = Math.max(0, lastSeq.value - lookBack)
  client.call('event.list', { since, types: callTypes, limit: 1_000 }).then(
    ({ events }) => audit.set(events.toReversed().slice(0, auditMax)),
    () => {},
  )
  return onEvents((events) => {
    const about = events.filter(({ type }) => type.startsWith('action.'))
    if (about.length === 0) return
    const calls = about.filter(({ type }) => callTypes.includes(type))
    if (calls.length < about.length) ask()
    audit.update((before) => [...calls.toReversed(), ...before].slice(0, auditMax))
  })
}
