// Tells agents of this machine about workers that they hired and that run on another machine, for example after the hirer has moved here. Agents believe a
// daemon's messages, so a daemon writes only to agents of its own machine: this one tells what the other machine has written into the journal. If this daemon
// is killed in between, lists show the worker's end and no message does.

import { oneLine } from '@agent-relay/sdk/internal/clean'
import { lastScreenText } from '@agent-relay/sdk/internal/printed'
import { daemonName, type Entry, type Fact } from '@agent-relay/sdk/protocol'
import { homeOnOtherMachine, isOnOtherMachine } from '../../core/homes.ts'
import { carriesOutRun } from '../../core/run-notice.ts'
import type { WorkerRow } from '../../core/view.ts'
import { approvalNotice } from '../approvals/approval-notice.ts'
import type { WorkspaceParts } from '../call.ts'

/** Maximum length, in characters, of a reason that comes from another machine. */
const reasonCharsMax = 200

interface HirerMessage {
  input: { to: string; body: string; kind: 'status' }
  cause: string
}

type HirerParts = Pick<WorkspaceParts, 'store' | 'engine' | 'hub' | 'sessions' | 'clock'> & {
  /** Whether a call of the hirer waits for this worker's end, so that the hirer needs no message about it. */
  isAwaited(id: string): boolean
}

/** Starts to tell hirers of workers on other machines. A workspace on one machine alone has no such workers. */
export function tellHirersOfRemoteWorkers(parts: HirerParts): void {
  if (parts.sessions.machine === undefined) return
  parts.hub.listen((entries) => {
    for (const entry of entries)
      for (const fact of entry.facts) {
        const notice = noticeOf(parts, entry, fact)
        if (notice) void parts.engine.submit({ rule: 'message.send', by: daemonName, ...notice }).catch(() => undefined)
      }
  })
}

function noticeOf(parts: HirerParts, { seq }: Entry, fact: Fact): HirerMessage | undefined {
  const { view } = parts.store
  if (fact.type === 'approval.opened') {
    const asked = view.approvals.of(fact.agent)
    const isTold = asked.length !== 1 || !isHiredFromHere(parts, view.agent(fact.agent)?.parent, fact)
    return isTold ? undefined : approvalNotice(view, fact, parts.clock.now(), ` on ${fact.machine}`)
  }
  if (fact.type !== 'worker.changed') return undefined
  const row = view.workers.byId(fact.id)
  // Facts that arrive after a disconnection may be outdated, so they are compared with the worker's row.
  if (!row || row.status !== fact.status || !isHiredFromHere(parts, row.parent, row)) return undefined
  const isKnown =
    parts.isAwaited(row.id) || carriesOutRun(view, row) || (row.wish === 'gone' && row.wishedBy === row.parent)
  if (fact.status === 'exited') return isKnown ? undefined : hirerMessage(row, `${row.id}/exited`, exitText(parts, row))
  if (fact.status !== 'blocked' || view.approvals.of(row.name).length > 0) return undefined
  return hirerMessage(
    row,
    `${row.id}/blocked/${seq}`,
    `is blocked${reasonText(row)}. Somebody has to look at it there.`,
  )
}

/**
 * Whether the hirer lives on this machine now, and once lived on the worker's machine: otherwise it cannot have hired there, whatever that machine says. In an
 * older format of the journal this is false, and the other daemon tells the hirer.
 */
function isHiredFromHere(
  { store, sessions }: HirerParts,
  hirer: string | undefined,
  on: { machine?: string },
): boolean {
  const { view, queries } = store
  if (hirer === undefined || on.machine === undefined || !isOnOtherMachine(view, sessions, on)) return false
  const isHere = view.home(hirer) !== undefined && homeOnOtherMachine(view, sessions, hirer) === undefined
  return isHere && queries.lastEpoch(hirer, on.machine) !== undefined
}

/**
 * Makes the message to the hirer, with the cause (command id) that the worker's own machine would use: only one of the two machines tells, also if the hirer
 * moves at that moment.
 */
function hirerMessage({ name, parent, machine }: WorkerRow, cause: string, what: string): HirerMessage {
  return { input: { to: parent, body: `Worker "${name}" on ${machine} ${what}`, kind: 'status' }, cause }
}

function exitText({ store }: HirerParts, row: WorkerRow): string {
  const { worktree } = row
  const work = worktree ? ` Its work is on branch ${oneLine(worktree.branch)} there.` : ''
  return `exited${reasonText(row)}.${work}${lastScreenText(store.view.workers.lastScreenOf(row.id))}`
}

/** Puts the reason in quotes on one line: it comes from another machine, and must not look like text of this daemon. */
function reasonText({ reason = '' }: WorkerRow): string {
  const chars = [...oneLine(reason).replaceAll('"', "'")]
  const short = chars.length <= reasonCharsMax ? chars : [...chars.slice(0, reasonCharsMax), '…']
  return reason === '' ? '' : ` ("${short.join('')}")`
}
