// What needs a person: which messages ask for something, which workers have failed, how each is called and in which order they stand; and that a
// person is done with one. Where they come from: see broker/approvals/needs.ts.

import { isSaidTo } from '@agent-relay/sdk/internal/mentions'
import { type Need, needKinds } from '@agent-relay/sdk/protocol'
import { directMembers } from './conversations.ts'
import { type Command, record, refuse, type Verdict } from './verdict.ts'
import type { MessageHead, View, WorkerRow } from './view.ts'

/** A worker that failed longer ago is of no interest any more. */
const failedForMs = 24 * 3_600_000

/** Stable, and of one word where the name of a conversation is. */
export const needKeys = {
  approval: (id: string) => `approval:${id}`,
  /** One that goes on and is blocked again is another need. */
  blocked: ({ id, changedAt }: { id: string; changedAt: string }) => `blocked:${id}:${changedAt}`,
  question: (message: string) => `question:${message}`,
  failed: (worker: string) => `failed:${worker}`,
  /** All that was said to the person in one conversation. */
  told: (conversation: string) => `told:${conversation}`,
} as const

/** What is answered in a row of its own, and cannot be dismissed: an agent stands still until then. */
const isStanding = (key: string): boolean => /^(?:approval|blocked):/.test(key)

export interface DismissInput {
  key: string
  /** Unset where it was dismissed before, and nothing has come since. */
  through?: number
}

/** Of the person who says it, and of nobody else. */
export function dismiss(view: View, { input, by }: Command<DismissInput>): Verdict {
  const { key, through } = input
  if (!view.agent(by)) return refuse('agent.required')
  if (isStanding(key)) return refuse('need.open', { key })
  return record(through === undefined ? [] : [{ type: 'need.dismissed', agent: by, key, through }])
}

/** What a message of somebody else asks of a person. Whether a question in a pair or group is still open: see open-questions.ts. */
export function asksOf(
  person: string,
  { conversation, kind }: Pick<MessageHead, 'conversation' | 'kind'>,
  body: () => string,
): Need['kind'] | undefined {
  const isDirect = directMembers(conversation).length > 0
  if (!isSaidTo(person, { kind, isDirect, body })) return undefined
  if (kind !== 'question') return 'mention'
  return isDirect ? undefined : 'question'
}

/** Why a worker has ended that nobody released, and that did not end by itself. */
export const withDaemon = { stopped: 'the daemon was stopped', restarted: 'the daemon was restarted' } as const

type Ended = Pick<WorkerRow, 'status' | 'code' | 'reason' | 'changedAt'>

/** By itself or with the daemon: one that was released has done what it was for. A program that a signal ended has no code. */
export function hasFailed({ status, code, reason = '', changedAt }: Ended, now: number): boolean {
  if (status !== 'exited' || now - changedAt > failedForMs) return false
  if (reason === withDaemon.stopped || reason === withDaemon.restarted) return true
  return code === undefined ? / signal \d/.test(reason) : code !== 0
}

/** In the order of their urgency, and among equals the oldest first: a new one does not push down what the person looks at. */
export function byUrgency(a: Pick<Need, 'kind' | 'since'>, b: Pick<Need, 'kind' | 'since'>): number {
  return needKinds.indexOf(a.kind) - needKinds.indexOf(b.kind) || a.since.localeCompare(b.since)
}
