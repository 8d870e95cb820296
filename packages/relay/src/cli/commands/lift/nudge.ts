// Tells an idle role that messages wait, by typing one line into its pane: never while its program is busy, never twice for the same messages, and never while
// the user is typing there.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Harness } from '../../../supervisor/harness/harness.ts'
import type { TerminalPanes } from './panes.ts'

const inboxLookMs = 1_000
/** Number of equal, idle screens in a row that are needed: between two steps of its work a session looks idle too. */
const idleLooks = 3

export interface NudgeOptions {
  role: string
  pane: string
  panes: TerminalPanes
  harness: Harness
  /** Returns the number of the role's newest message that no session has been given; 0 if there is none. */
  newest(): number
  type(text: string): Promise<void>
}

/** Watches a role's pane and inbox until `ending`, or until the pane is closed. */
export async function nudgeWhenIdle(
  { role, pane, panes, harness, newest, type }: NudgeOptions,
  ending: AbortSignal,
): Promise<void> {
  let told = 0
  let last = ''
  for (let looks = 0; !ending.aborted; await sleep(inboxLookMs, undefined, { ref: false })) {
    const waiting = newest()
    if (waiting <= told) continue
    const screen = await panes.readScreen(pane)
    const text = screen.lines.join('\n')
    // Types only if the screen shows the known prompt of the CLI: another program may run in the pane.
    looks = harness.readScreenSign(screen) === 'idle' && text === last ? looks + 1 : 0
    last = text
    if (looks < idleLooks || (await panes.isAttended(pane))) continue
    told = waiting
    looks = 0
    await type(`Messages wait for you: call read_messages(for="${role}").`)
  }
}
