// The live feed: one line for each message, or one JSON value, until the command ends.

import type { RelayClient } from '@agent-relay/sdk'
import { follow } from './following.ts'
import { feedLine } from './lines.ts'
import type { Print } from './print.ts'

export function showFeed(client: RelayClient, print: Print, ending: AbortSignal): Promise<void> {
  return follow(
    client,
    { types: ['message.created'] },
    (event) => {
      if (print.isJson) void print.json(event)
      else if (event.message) void print.line(feedLine(print, event.message))
    },
    ending,
  )
}
