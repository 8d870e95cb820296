// Follows the events of a workspace until the command ends, across restarts of the daemon. A person gets the newest ones and a count of the rest; a
// program (--json) gets all of them. lines.ts makes an event a line.

import { Relay, type RelayClient, type RelayEvent } from '@agent-relay/sdk'
import type { EventPattern, InputOf } from '@agent-relay/sdk/protocol'
import { eventLine, type SkippedEvents, skippedLine } from './lines.ts'
import type { Printer } from './print.ts'

/** The most lines in a tenth of a second: more than anybody can read. */
const feedLinesMax = 20

/** `workspace`: its name stands before each message, since those of other workspaces are shown too. */
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

/** Follows events for a person. Those that the terminal does not take in time are left out and counted, like those that the daemon left out before. */
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
 * Follows events. Resolves when `ending` is aborted; rejects when the workspace refuses. The next event waits until `onEvent` is done with this one:
 * while nobody reads what is printed, the watch pauses instead of filling the memory.
 */
export async function followEvents(
  client: RelayClient,
  filter: InputOf<'event.follow'>,
  onEvent: (event: RelayEvent) => unknown,
  ending: AbortSignal,
): Promise<void> {
  // The types stay as a person typed them: the daemon may know names that this version does not.
  const types = filter.types as EventPattern[] | undefined
  for await (const event of new Relay(client).events.follow({ ...filter, types, signal: ending })) await onEvent(event)
}

/** Says when the daemon or the workspace is gone and when it is back. No event is lost in between. */
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
