// What a decision has read of a shared workspace, as conflict keys (core/conflict-keys.ts), and what a fact changes. Where two daemons decide at
// once, the cluster compares the two.
//
// A method of the view that is not listed here reads everything, so that forgetting one costs speed and never truth. What was not found is
// read as well.

import { createHash } from 'node:crypto'
import type { Fact } from '@agent-relay/sdk/protocol'
import { keys } from '../core/conflict-keys.ts'
import { rowOf } from '../core/facts/table.ts'
import type { ApprovalView, ClaimView, NoticeView, RunView, View, WorkerView } from '../core/view.ts'
import type { Append, Writes } from './cluster-journal.ts'

/** What decisions have read, taken together. */
export class Reads {
  readonly #keys = new Set<string>()
  #isAll = false

  note(keys: readonly string[] | 'all'): void {
    if (keys === 'all') this.#isAll = true
    else for (const key of keys) this.#keys.add(keyText(key))
  }

  /** Does a decision that read these depend on what was written? */
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

/** For each method: what a call has read, given what it found and its arguments. */
type Listed<T> = {
  readonly [M in keyof T]?: T[M] extends (...asked: infer A) => infer R
    ? (found: R, ...asked: A) => readonly string[] | 'all'
    : never
}

/** The ids of messages begin so. A name of a thread that does not will never be the id of one. */
const messageIdStart = 'm_'

const ofView: Listed<View> = {
  policy: () => [keys.policy],
  format: () => [keys.machines],
  owner: () => [keys.machines],
  isRevoked: () => [keys.machines],
  agent: (_, name) => [keys.agent(name)],
  home: (_, name) => [keys.agent(name)],
  isRetired: (_, name) => [keys.agent(name)],
  // An update does not say what the agent was called before, so it writes the whole kind.
  agentsCalled: (_, text) => [keys.called(text), keys.calledAny],
  agents: () => [keys.agents],
  channels: () => [keys.channels],
  lastNumber: (_, conversation) => [keys.conversation(conversation)],
  isMember: (_, agent, conversation) => [keys.stay(agent, conversation), keys.existence(conversation)],
  // A message never changes. One that is not there may still come; a key for each message would cost every send.
  message: (found, id) => (!found && id.startsWith(messageIdStart) ? 'all' : []),
  beginning: () => [],
  sentAt: (_, conversation) => [keys.conversation(conversation)],
  // Whoever registers may be given stays that begin before the message.
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

/** The same view; what is asked of it is noted. */
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

/** What an entry with these facts changes. */
export function writesOf(facts: readonly Fact[]): Writes {
  if (facts.length > 0 && facts.every(({ type }) => type === 'deliveries.noted')) return 'note'
  return [...new Set(facts.flatMap((fact) => rowOf(fact).writes(fact).map(keyText)))]
}

/** Whether an entry says all that its facts change. If it did not, whoever decides at the same moment would not be told of it. */
export function covers(writes: Writes, facts: readonly Fact[]): boolean {
  const changed = writesOf(facts)
  if (changed === 'note') return true
  return writes !== 'note' && changed.every((key) => writes.includes(key))
}

const keyCharsMax = 200
/** What PostgreSQL cannot keep as text: NUL, and half of a pair that stands for one character. */
export const oddText = /\0|\p{Surrogate}/u

/** A key as it is compared by the cluster, which indexes no long text. */
export function keyText(key: string): string {
  if (key.length <= keyCharsMax && !oddText.test(key)) return key
  return `sha256 ${createHash('sha256').update(JSON.stringify(key)).digest('base64url')}`
}
