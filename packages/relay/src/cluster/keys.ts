// Conflict keys (core/conflict-keys.ts) of a shared workspace: those that a decision has read, and those that a fact changes. When two daemons decide at
// once, the cluster compares these two sets.
//
// A view method that is not listed here counts as reading everything, so forgetting a method costs speed and never correctness. A look that found nothing
// counts as a read too.

import { createHash } from 'node:crypto'
import type { Fact } from '@agent-relay/sdk/protocol'
import { keys } from '../core/conflict-keys.ts'
import { rowOf } from '../core/facts/table.ts'
import type { ApprovalView, ClaimView, NoticeView, RunView, View, WorkerView } from '../core/view.ts'
import type { Append, Writes } from './cluster-journal.ts'

/** The keys that several decisions have read, taken together. */
export class Reads {
  readonly #keys = new Set<string>()
  #isAll = false

  note(keys: readonly string[] | 'all'): void {
    if (keys === 'all') this.#isAll = true
    else for (const key of keys) this.#keys.add(keyText(key))
  }

  /** Whether a decision that read these keys depends on a key in `written`. */
  meets(written: ReadonlySet<string>): boolean {
    if (this.#isAll) return written.size > 0
    for (const key of this.#keys) if (written.has(key)) return true
    return false
  }

  add(others: Reads): void {
    this.#isAll ||= others.#isAll
    for (const key of others.#keys) this.#keys.add(key)
  }

  get value(): Append['reads'] {
    return this.#isAll ? 'all' : [...this.#keys]
  }
}

/** For each method of a view: the keys that a call has read, given its result and its arguments. */
type Listed<T> = {
  readonly [M in keyof T]?: T[M] extends (...asked: infer A) => infer R
    ? (found: R, ...asked: A) => readonly string[] | 'all'
    : never
}

/** The prefix of message ids. A thread's name without this prefix can never be the id of a message. */
const messageIdStart = 'm_'

const ofView: Listed<View> = {
  policy: () => [keys.policy],
  format: () => [keys.machines],
  owner: () => [keys.machines],
  isRevoked: () => [keys.machines],
  agent: (_, name) => [keys.agent(name)],
  home: (_, name) => [keys.agent(name)],
  isRetired: (_, name) => [keys.agent(name)],
  // An update does not say how the agent was called before, so it writes the key for all names.
  agentsCalled: (_, text) => [keys.called(text), keys.calledAny],
  agents: () => [keys.agents],
  channels: () => [keys.channels],
  lastNumber: (_, conversation) => [keys.conversation(conversation)],
  isMember: (_, agent, conversation) => [keys.stay(agent, conversation), keys.existence(conversation)],
  // A message never changes, but a missing message may still come. A key for each message would cost every send.
  message: (found, id) => (!found && id.startsWith(messageIdStart) ? 'all' : []),
  beginning: () => [],
  sentAt: (_, conversation) => [keys.conversation(conversation)],
  // An agent that registers may get stays (times in a conversation) that begin before the message.
  isRecipient: (_, agent) => [keys.agent(agent)],
  hasReacted: (_, __, message) => [keys.reactions(message.id)],
  actions: () => [keys.actions],
  action: (_, name) => [keys.action(name)],
  actionOfTool: (_, tool) => [keys.tool(tool)],
  invocation: (_, id) => [keys.call(id)],
  runningInvocations: () => [keys.calls],
}

const ofWorkers: Listed<WorkerView> = {
  byId: (found) => [found ? keys.worker(found.name) : keys.workers],
  byName: (_, name) => [keys.worker(name)],
  running: () => [keys.workers],
  withWorktree: () => [keys.workers],
}

const ofRuns: Listed<RunView> = {
  byId: (_, id) => [keys.run(id)],
  running: () => [keys.runs],
}

const ofClaims: Listed<ClaimView> = {
  at: (_, path) => [keys.claim(path)],
  inCheckout: () => [keys.claims],
  among: (_, paths) => paths.map(keys.claim),
  othersAmong: (_, paths) => paths.map(keys.claim),
  below: () => [keys.claims],
  ofFiles: () => [keys.claims],
  of: () => [keys.claims],
  count: () => [keys.claims],
  countOf: () => [keys.claims],
}

const ofApprovals: Listed<ApprovalView> = {
  byId: () => [keys.approvals],
  open: () => [keys.approvals],
  count: () => [keys.approvals],
  of: () => [keys.approvals],
  last: () => [keys.approvals],
}

const ofNotices: Listed<NoticeView> = {
  find: () => [keys.notices],
  of: () => [keys.notices],
  about: () => [keys.notices],
  count: () => [keys.notices],
}

/** Wraps a view so that the conflict keys of every call are noted in `reads`. */
export function recordingView(view: View, reads: Reads): View {
  const parts: Partial<View> = {
    workers: noting(view.workers, ofWorkers, reads),
    runs: noting(view.runs, ofRuns, reads),
    claims: noting(view.claims, ofClaims, reads),
    approvals: noting(view.approvals, ofApprovals, reads),
    notices: noting(view.notices, ofNotices, reads),
  }
  return noting(view, ofView, reads, parts)
}

function noting<T extends object>(whole: T, listed: Listed<T>, reads: Reads, parts: Partial<T> = {}): T {
  return new Proxy(whole, {
    get(_, name) {
      const part = parts[name as keyof T]
      if (part !== undefined) return part
      const asked = whole[name as keyof T]
      const keysRead = listed[name as keyof T] as ((...all: unknown[]) => readonly string[] | 'all') | undefined
      if (!keysRead || typeof asked !== 'function') reads.note('all')
      if (typeof asked !== 'function') return asked
      return (...all: unknown[]) => {
        const found = asked.apply(whole, all)
        if (keysRead) reads.note(keysRead(found, ...all))
        return found
      }
    },
  })
}

/** Returns the conflict keys that an entry with these facts changes. */
export function writesOf(facts: readonly Fact[]): Writes {
  if (facts.length > 0 && facts.every(({ type }) => type === 'deliveries.noted')) return 'note'
  return [...new Set(facts.flatMap((fact) => rowOf(fact).writes(fact).map(keyText)))]
}

/** Whether `writes` names every key that the facts change. A missing key would hide the change from a decision made at the same moment. */
export function covers(writes: Writes, facts: readonly Fact[]): boolean {
  const changed = writesOf(facts)
  if (changed === 'note') return true
  return writes !== 'note' && changed.every((key) => writes.includes(key))
}

const keyCharsMax = 200
/** Characters that PostgreSQL cannot keep as text: NUL, and half a surrogate pair. */
export const oddText = /\0|\p{Surrogate}/u

/** Returns the form of a key that the cluster compares; long keys are hashed, because the cluster indexes no long text. */
export function keyText(key: string): string {
  if (key.length <= keyCharsMax && !oddText.test(key)) return key
  return `sha256 ${createHash('sha256').update(JSON.stringify(key)).digest('base64url')}`
}
