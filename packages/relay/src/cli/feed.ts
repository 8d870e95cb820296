// Follows the events of a workspace until the command ends, across restarts of the daemon. A person gets the newest ones and a count of the rest; a program
// (--json) gets all. lines.ts formats an event as a line.

import { Relay, type RelayClient, type RelayEvent } from '@agent-relay/sdk'
import type { EventPattern, InputOf } from '@agent-relay/sdk/protocol'
import { eventLine, type SkippedEvents, skippedLine } from './lines.ts'
import type { Printer } from './print.ts'

/** Maximum number of lines in a tenth of a second: more than anybody can read. */
const feedLinesMax = 20

/** Prints the messages of a workspace. With `workspace`, each has that name in front, since messages of other workspaces are printed too. */
export function showMessageFeed(
  client: RelayClient,
  print: Printer,
  ending: AbortSignal,
  workspace?: string,
): Promise<void> {
  const types = ['message.created']
  if (print.isJson) return followEvents(client, { types }, (event) => print.json(event), ending)
  return followForPerson(client, { types }, print, ending, workspace)
}

/** Follows events for a person. Events for which the terminal is too slow are left out and counted, together with those that the daemon has left out. */
export function followForPerson(
  client: RelayClient,
  filter: { types?: string[]; since?: number },
  print: Printer,
  ending: AbortSignal,
  workspace?: string,
): Promise<void> {
  let skipped: SkippedEvents | undefined
  const show = (event: RelayEvent) => {
    if (print.isBehind) {
      const more = skippedBy(event)
      skipped = { count: (skipped?.count ?? 0) + more.count, since: skipped?.since ?? more.since }
      return
    }
    if (skipped) void print.line(skippedLine(print, skipped, workspace))
    skipped = undefined
    void print.line(eventLine(print, event, workspace))
  }
  return followEvents(client, { ...filter, newest: feedLinesMax }, show, ending)
}

function skippedBy(event: RelayEvent): SkippedEvents {
  return event.type === 'events.skipped' ? event.fact : { count: 1, since: Math.max(0, event.seq - 1) }
}

/**
 * Follows events. Resolves when `ending` is aborted; rejects if the workspace refuses. Each event waits until `onEvent` has finished with the one before: if
 * nobody reads the output, events are not collected in memory.
 */
export async function followEvents(
  client: RelayClient,
  filter: InputOf<'event.follow'>,
  onEvent: (event: RelayEvent) => unknown,
  ending: AbortSignal,
): Promise<void> {
  // Unknown types are passed on: a newer daemon may know them.
  const types = filter.types as EventPattern[] | undefined
  for await (const event of new Relay(client).events.follow({ ...filter, types, signal: ending })) await onEvent(event)
}

/** Prints when the daemon or workspace cannot be reached, and when it can again. Events in between are not lost. */
export function announceDisconnects(client: RelayClient, print: Printer, ending: AbortSignal): void {
  let back: string | undefined
  client.on('disconnect', ({ refusal }) => {
    if (ending.aborted) return
    const { code, message } = refusal ?? {}
    if (code === 'workspace.removed') return print.say(`${message} Ctrl-C ends.`)
    if (code === 'auth.revoked') return print.say('The workspace key was replaced; connecting with the new one.')
    const isClosed = code === 'workspace.closed'
    back = isClosed ? 'The workspace is open again.' : 'The daemon is back.'
    print.say(isClosed ? `${message}\nWaiting for that. Ctrl-C ends.` : `${goneText} Ctrl-C ends.`)
  })
  client.on('ready', () => {
    if (back !== undefined) print.say(back)
    back = undefined
  })
}

const goneText = 'The daemon is gone; waiting for it to come back.'
