// Lists the things that need a person, computed from the tables for each call and the same in every session of that person. core/needs.ts decides which things
// count.

import { limits, type Need, type OutputOf, type ParsedInputOf, type Worker } from '@agent-relay/sdk/protocol'
import { firstLine } from '../../core/first-line.ts'
import { compareUrgency, needKeys } from '../../core/needs.ts'
import { findOpenQuestions } from '../../core/open-questions.ts'
import { RefusalError } from '../../core/refusal-error.ts'
import { type Reader, sees, seesAll } from '../../core/sight.ts'
import type { Steps } from '../../core/steps.ts'
import type { MessageHead } from '../../core/view.ts'
import { actorOf, type CallContext } from '../call.ts'
import { submitCall } from '../commands.ts'
import { ReadTimeBudget } from '../long-reads.ts'
import { daemonStanding } from '../sessions/standing.ts'
import { wantedActionText } from './approval-notice.ts'
import type { Approvals } from './approvals.ts'
import { type Asker, type FailedNeedsWorkspace, failedNeeds } from './failed-needs.ts'
import type { Mentions } from './mentions.ts'

const needsDefault = 200
/** Number of characters of a message's body that are read for its first line. */
const firstLineChars = 200

type NeedsWorkspace = FailedNeedsWorkspace & {
  approvals: Approvals
  mentions: Mentions
  waits: { awaitedMessageIds(agent: string): string[] }
  workers: { list(reader: Reader, input: object): Worker[] }
}

/** A need (one thing that waits for a person) before its message's body is read. */
type FoundNeed = Omit<Need, 'message'> & { head?: MessageHead }

export function* listNeeds(
  { workspace }: { workspace: NeedsWorkspace },
  asking: CallContext,
  { limit = needsDefault }: ParsedInputOf<'need.list'>,
): Steps<OutputOf<'need.list'>> {
  const found = yield* findNeeds(workspace, asking)
  const shown: Need[] = []
  let bytes = 0
  for (const { head, ...need } of found.slice(0, limit)) {
    const message = head && workspace.store.queries.messageWithBody(head)
    bytes += message === undefined ? 0 : Buffer.byteLength(message.body)
    if (bytes > limits.pageBytesMax && shown.length > 0) break
    shown.push(message === undefined ? need : { ...need, message })
    yield
  }
  return { needs: shown, more: found.length - shown.length }
}

/** Counts what waits for a person, with the rights that the person has on the web page. */
export function* countNeeds(workspace: NeedsWorkspace, person: string): Steps<number> {
  const session = { agent: person, standing: daemonStanding }
  return (yield* findNeeds(workspace, { session, by: person })).length
}

/**
 * Dismisses a need (one thing that waits for a person). Refuses keys that are not in the person's list, since anybody could fill the table of dismissed keys
 * with them. Idempotent.
 */
export async function dismissNeed(
  { workspace }: { workspace: NeedsWorkspace },
  asking: CallContext,
  { key, through = Number.MAX_SAFE_INTEGER }: ParsedInputOf<'need.dismiss'>,
): Promise<OutputOf<'need.dismiss'>> {
  const { store, reads } = workspace
  const by = actorOf(asking)
  const found = await reads.run(findNeeds(workspace, asking), new ReadTimeBudget(), asking.abandoned)
  const need = found.find((each) => each.key === key)
  if (!need && !store.needs.isDismissed(by, key)) throw new RefusalError('need.unknown', { key })
  const input = { key, through: need && Math.min(through, need.head?.seq ?? 0) }
  await submitCall(workspace, { ...asking, by }, 'need.dismiss', input)
  return {}
}

function* findNeeds(workspace: NeedsWorkspace, asking: Asker): Steps<FoundNeed[]> {
  const told = yield* messageNeeds(workspace, asking)
  const failed = yield* failedNeeds(workspace, asking)
  return [...approvalNeeds(workspace, asking), ...blockedNeeds(workspace, asking), ...failed, ...told].sort(
    compareUrgency,
  )
}

function approvalNeeds({ store: { view } }: NeedsWorkspace, { session }: Asker): FoundNeed[] {
  const open = view.approvals.open().filter((row) => sees(view, session, 'approval', row))
  return open.map((row) => ({
    key: needKeys.approval(row.id),
    kind: 'approval',
    who: row.agent,
    text: wantedActionText(row),
    since: timeOf(row.at),
    approval: row.id,
  }))
}

/**
 * Lists workers that wait for somebody. Leaves out a worker with an open approval, since the approval is listed, and one whose approval ended just now, since
 * its screen may still show the question.
 */
function blockedNeeds({ store: { view }, workers, approvals }: NeedsWorkspace, { session }: Asker): FoundNeed[] {
  const isAsking = (name: string) => view.approvals.of(name).length > 0 || approvals.hasJustEnded(name)
  const blocked = workers.list(session, {}).filter(({ name, status }) => status === 'blocked' && !isAsking(name))
  return blocked.map(({ id, name, reason, changedAt }) => {
    const run = view.runs.currentRunOf(name)?.id
    const key = needKeys.blocked({ id, changedAt })
    const need = { key, kind: 'blocked', who: name, text: reason ?? 'a dialog is open', since: changedAt } as const
    return { ...need, worker: id, ...(run === undefined ? {} : { run }) }
  })
}

/** Lists messages to the person, read or unread, that are neither answered nor dismissed. */
function* messageNeeds({ store, waits, mentions }: NeedsWorkspace, { session, by }: Asker): Steps<FoundNeed[]> {
  const { view, needs: rows } = store
  const done = rows.dismissed(by)
  const open = yield* findOpenQuestions(view, by, waits.awaitedMessageIds(by))
  const questions = new Map(open.filter(({ from }) => from !== by).map((head) => [head.id, head]))
  const told = new Map<string, MessageHead[]>()
  // On the page and at the command line a person sees every channel, so all channels are searched for messages that name the person.
  const isEverywhere = seesAll(session) && view.agent(by)?.type === 'human'
  for (const { head, kind } of yield* mentions.messagesNeeding(by, isEverywhere)) {
    const { conversation, id, seq } = head
    const heads = told.get(conversation)
    if (kind === 'question') questions.set(id, head)
    else if (questions.has(id) || seq <= (done.get(needKeys.told(conversation)) ?? 0)) continue
    else if (heads) heads.push(head)
    else told.set(conversation, [head])
  }
  const needOf = (head: MessageHead) => ({
    who: head.from,
    text: firstLine(view.bodyStart(head, firstLineChars)),
    since: timeOf(head.at),
    head,
  })
  // Sorted by journal number, since several questions may have the same time.
  const asked = [...questions.values()]
    .sort((a, b) => a.seq - b.seq)
    .map((head): FoundNeed => {
      return { ...needOf(head), key: needKeys.question(head.id), kind: 'question' }
    })
  return [
    ...asked.filter(({ key }) => !done.has(key)),
    // All messages in one conversation make one need: ten messages in a row need the person once.
    ...[...told].map(([conversation, heads]): FoundNeed => {
      const [newest, oldest] = [heads[0], heads.at(-1)] as [MessageHead, MessageHead]
      const many = { key: needKeys.told(conversation), kind: 'mention', count: heads.length } as const
      return { ...needOf(newest), ...many, since: timeOf(oldest.at) }
    }),
  ]
}

function timeOf(at: number): string {
  return new Date(at).toISOString()
}
