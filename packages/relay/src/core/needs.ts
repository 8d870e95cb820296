// Needs, the things that wait for a person: which messages and workers are among them, their keys and order, and how a person dismisses one.
// broker/approvals/needs.ts collects them.

import { isAddressedTo } from '@agent-relay/sdk/internal/mentions'
import { type Need, needKinds } from '@agent-relay/sdk/protocol'
import { directMembers } from './conversations.ts'
import { carriesOutRun } from './run-notice.ts'
import { type Command, recordFacts, refuse, type Verdict } from './verdict.ts'
import type { MessageHead, RunRow, View, WorkerRow } from './view.ts'

/** How long a failed worker or run is listed as a need: longer than a weekend, in which nobody looks. */
const failedForMs = 7 * 24 * 3_600_000

/** Makes the keys by which needs are named. The key of a need never changes, and has a space only if the name of its conversation has one. */
export const needKeys = {
  approval: (id: string) => `approval:${id}`,
  /** The key of a blocked worker. A worker that goes on and is blocked again is another need, with another key. */
  blocked: ({ id, changedAt }: { id: string; changedAt: string }) => `blocked:${id}:${changedAt}`,
  question: (message: string) => `question:${message}`,
  /** The key of a worker or a run that has failed, by its id. */
  failed: (id: string) => `failed:${id}`,
  /** The key of all messages to the person in one conversation. */
  told: (conversation: string) => `told:${conversation}`,
} as const

/** Whether a need has to be answered and cannot be dismissed: an agent stands still until the answer. */
const isStanding = (key: string): boolean => /^(?:approval|blocked):/.test(key)

export interface DismissInput {
  key: string
  /** The number of the last journal entry that the dismissal covers. Unset if the need was already dismissed and nothing has come since. */
  through?: number
}

/** Dismisses a need of the person who gives the command, and nobody else's. */
export function dismiss(view: View, { input, by }: Command<DismissInput>): Verdict {
  const { key, through } = input
  if (!view.agent(by)) return refuse('agent.required')
  if (isStanding(key)) return refuse('need.open', { key })
  return recordFacts(through === undefined ? [] : [{ type: 'need.dismissed', agent: by, key, through }])
}

/** Returns the kind of need that an agent's message makes for a person. open-questions.ts tells whether a question in a pair or group is still open. */
export function needKindOf(
  person: string,
  { conversation, kind }: Pick<MessageHead, 'conversation' | 'kind'>,
  body: () => string,
): Need['kind'] | undefined {
  const isDirect = directMembers(conversation).length > 0
  if (!isAddressedTo(person, { kind, isDirect, body })) return undefined
  if (kind !== 'question') return 'mention'
  return isDirect ? undefined : 'question'
}

/** Reasons for the end of a worker, or of a run (`duringRun`), that came from the daemon: nobody has asked for that end. */
export const daemonEndReasons = {
  stopped: 'the daemon was stopped',
  restarted: 'the daemon was restarted',
  duringRun: 'The daemon ended while this ran.',
} as const

type EndedWorker = Pick<WorkerRow, 'status' | 'code' | 'reason' | 'changedAt'>
type EndedRun = Pick<RunRow, 'status' | 'reason' | 'endedAt'>

/**
 * Whether a worker failed, by itself or because its daemon ended. A worker that was released has not failed. A program that a signal ended has no exit code, so
 * its reason is read.
 */
export function hasWorkerFailed({ status, code, reason = '', changedAt }: EndedWorker, now: number): boolean {
  if (status !== 'exited' || now - changedAt > failedForMs) return false
  if (reason === daemonEndReasons.stopped || reason === daemonEndReasons.restarted) return true
  return code === undefined ? / signal \d/.test(reason) : code !== 0
}

/** Returns why the worker failed; undefined if it did not, or if the run that it carried out is completed. */
export function workerFailureReason(view: View, worker: WorkerRow, now: number): string | undefined {
  if (!hasWorkerFailed(worker, now)) return undefined
  const isDone = carriesOutRun(view, worker) && view.runs.byAgent(worker.name)?.status === 'completed'
  return isDone ? undefined : (worker.reason ?? `it ended with code ${worker.code}`)
}

/** Whether a run ended only because its daemon did, within the last week. */
export function hasRunFailed({ status, reason, endedAt = 0 }: EndedRun, now: number): boolean {
  return status === 'stopped' && reason === daemonEndReasons.duringRun && now - endedAt <= failedForMs
}

/** Compares needs by urgency, then by age, the oldest first: a new need does not push down what the person looks at. */
export function compareUrgency(a: Pick<Need, 'kind' | 'since'>, b: Pick<Need, 'kind' | 'since'>): number {
  return needKinds.indexOf(a.kind) - needKinds.indexOf(b.kind) || a.since.localeCompare(b.since)
}
