// The open approvals: actions that wait for somebody's permission. The list is requested again at each approval event.

import type { Approval, EventOf, RelayEvent } from '@agent-relay/sdk/internal/page'
import { Cell } from './cell.ts'
import { client, connection } from './connection.ts'
import { onEvents } from './events.ts'
import { ListRefresher, reuseUnchanged } from './refresh.ts'
import type { Workplace } from './workplace.ts'

export type { Approval }
export type ApprovalChoice = Approval['choices'][number]
export type Question = NonNullable<Approval['questions']>[number]

export const approvals = new Cell<readonly Approval[]>([])

export interface ClosedApproval {
  how: string
  kind?: string
  by: string
}

const closingsMax = 100
/** The outcomes of the approvals that ended while the page was open, by approval id. */
export const closedApprovals = new Cell<ReadonlyMap<string, ClosedApproval>>(new Map())

const refresh = new ListRefresher(ask, { minMs: 100, idleMs: 15_000 })

export function followApprovals(): void {
  connection.listen(() => connection.value.phase === 'up' && refresh.hint())
  onEvents((events) => {
    for (const event of events) if (event.type === 'approval.closed') close(event)
    if (events.some(({ type }) => type.startsWith('approval.'))) refresh.hint()
  })
}

function close({ by, fact }: RelayEvent): void {
  const { id, how, kind } = fact as EventOf<'approval.closed'>['fact']
  const known = [...closedApprovals.value].slice(1 - closingsMax)
  closedApprovals.set(new Map([...known, [id, { how, kind, by }]]))
}

async function ask(): Promise<void> {
  const answer = await client.call('approval.list', {})
  approvals.set(reuseUnchanged(approvals.value, answer.approvals, ({ id }) => id))
}

/** Fetches an approval with the whole stored input, which the list cuts short. */
export async function wholeApproval({ client }: Pick<Workplace, 'client'>, { id }: Approval): Promise<Approval> {
  return (await client.call('approval.show', { id })).approval
}

/** Answers an approval. The digest ties the answer to the input that the person has seen. */
export async function answerApproval(
  { client, hint }: Pick<Workplace, 'client' | 'hint'>,
  { id, digest }: Approval,
  choice: string,
  { words = '', answers }: { words?: string; answers?: string[] } = {},
): Promise<void> {
  await client.call('approval.answer', { id, choice, digest, words: words.trim() || undefined, answers })
  refresh.hint()
  hint()
}
