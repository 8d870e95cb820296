// Following a workspace's events until the command ends, across restarts of the daemon. How an event looks is lines.ts's affair.

import type { EventFilter, RelayClient, RelayEvent } from '@agent-relay/sdk'
import { ended } from './ending.ts'
import type { Print } from './print.ts'

/** Resolves when `ending` is aborted; rejects when the workspace refuses. */
export async function follow(
  client: RelayClient,
  filter: EventFilter,
  onEvent: (event: RelayEvent) => void,
  ending: AbortSignal,
): Promise<void> {
  let refuse: (error: Error) => void = () => {}
  const refused = new Promise<never>((_, reject) => {
    refuse = reject
  })
  client.on('error', refuse)
  const watch = client.watch(filter, onEvent)
  try {
    await Promise.race([refused, watch.ready.then(() => ended(ending)), ended(ending)])
  } finally {
    client.off('error', refuse)
    watch.stop()
  }
}

/** A follower says when its daemon goes and when it is back; between the two nothing is lost. */
export function sayLosses(client: RelayClient, print: Print, ending: AbortSignal): void {
  let isAway = false
  client.on('disconnect', ({ refusal }) => {
    if (ending.aborted) return
    if (refusal?.code === 'workspace.removed') return print.say(`${refusal.message} Ctrl-C ends.`)
    isAway = refusal?.code !== 'auth.revoked'
    if (isAway) print.say('The daemon is gone; waiting for it to come back. Ctrl-C ends.')
    else print.say('The workspace key was replaced; connecting with the new one.')
  })
  client.on('ready', () => {
    if (isAway) print.say('The daemon is back.')
    isAway = false
  })
}
