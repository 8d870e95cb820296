// Telling a role whose session has gone quiet that messages wait: one line, typed into its pane. Never into a busy one, never twice for the same
// messages, never where the user has a hand on the keys. Without it somebody would have to go round and say so.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Harness } from '../../supervisor/harness/harness.ts'
import type { Panes } from './panes.ts'

const lookMs = 1_000
/** So long it must have been idle, with the same screen: a session between two steps looks idle too. */
const idleLooks = 3

export interface Nudged {
  role: string
  pane: string
  panes: Panes
  harness: Harness
  /** The newest message that waits for the role and was not handed out; 0 for none. */
  newest(): number
  type(text: string): Promise<void>
}

/** Until `ending`, or until the pane is gone. */
export async function nudge({ role, pane, panes, harness, newest, type }: Nudged, ending: AbortSignal): Promise<void> {
  let told = 0
  let last = ''
  for (let looks = 0; !ending.aborted; await sleep(lookMs, undefined, { ref: false })) {
    const waiting = newest()
    if (waiting <= told) continue
    const view = await panes.view(pane)
    const text = view.lines.join('\n')
    // Only what is known to be a prompt is typed into: a quiet program may be anything.
    looks = harness.read(view) === 'idle' && text === last ? looks + 1 : 0
    last = text
    if (looks < idleLooks || (await panes.isAttended(pane))) continue
    told = waiting
    looks = 0
    await type(`Messages wait for you: call read_messages(for="${role}").`)
  }
}
