// Conflict keys (core/conflict-keys.ts) of a shared workspace: the keys that a decision has read, and those that a fact changes. The cluster compares both
// sets to find decisions that two daemons made at once and that contradict each other.
//
// A method of the view that is not listed here counts as reading everything, so forgetting one costs speed and never correctness. A lookup that found
// nothing counts as a read too.

import { createHash } from 'node:crypto'
import type { Fact } from '@agent-relay/sdk/protocol'
import { conflictKeys } from '../core/conflict-keys.ts'
import { factRowOf } from '../core/facts/table.ts'
import type { ActionView, ApprovalView, ClaimView, NoticeView, RunView, View, WorkerView } from '../core/view.ts'
import type { Append, ChangedKeys } from './cluster-journal.ts'

/** The set of keys that several decisions have read. */
export class ReadKeys {
  readonly #keys = new Set<string>()
  #isAll = false

  add(keys: readonly string[] | 'all'): void {
    if (keys === 'all') this.#isAll = true
    else for (const key of keys) this.#keys.add(keyText(key))
  }

  /** Whether one of the keys in `written` is among the keys that were read. */
  includesAnyOf(written: ReadonlySet<string>): boolean {
    if (this.#isAll) return written.size > 0
    for (const key of this.#keys) if (written.has(key)) return true
    return false
  }

  addAll(others: ReadKeys): void {
    this.#isAll ||= others.#isAll
    for (const key of others.#keys) this.#keys.add(key)
  }

  get keys(): Append['reads'] {
    return this.#isAll ? 'all' : [...this.#keys]
  }
}

/** For each method of a view, the keys that a call of it has read, given its result and arguments. */
type KeysReadBy<T> = {
  readonly [M in keyof T]?: T[M] extends (...asked: infer A) => infer R
    ? (found: R, ...asked: A) => readonly string[] | 'all'
    : never
}

/** The prefix of message ids, which tells them from names of threads. */
const messageIdStart = 'm_'

const ofView: KeysReadBy<View> = {
  policy: () => [conflictKeys.policy],
  format: () => [conflictKeys.machines],
  owner: () => [conflictKeys.machines],
  isRevoked: () => [conflictKeys.machines],
  agent: (_, name) => [conflictKeys.agent(name)],
  home: (_, name) => [conflictKeys.agent(name)],
  isRetired: (_, name) => [conflictKeys.agent(name)],
  // An update of an agent does not contain the agent's former names, so it changes the key for all names, and each lookup of a name reads that key.
  agentsNamedLike: (_, text) => [conflictKeys.nameOrHandle(text), conflictKeys.allNamesAndHandles],
  agents: () => [conflictKeys.agents],
  agentNames: () => [conflictKeys.agents],
  channels: () => [conflictKeys.channels],
  lastNumber: (_, conversation) => [conflictKeys.conversation(conversation)],
  isMember: (_, agent, conversation) => [conflictKeys.stay(agent, conversation), conflictKeys.existence(conversation)],
  // A message never changes, so finding one reads no key. If none was found, the result may change with any later entry: a key for each message would slow
  // down every send.
  message: (found, id) => (!found && id.startsWith(messageIdStart) ? 'all' : []),
  bodyStart: () => [],
  sentAt: (_, conversation) => [conflictKeys.conversation(conversation)],
  // An agent may become a recipient only when it registers: a stay (its time in a conversation) may then begin before the message.
  isRecipient: (_, agent) => [conflictKeys.agent(agent)],
  hasReacted: (_, __, message) => [conflictKeys.reactions(message.id)],
}

const ofActions: KeysReadBy<ActionView> = {
  all: () => [conflictKeys.actions],
  byName: (_, name) => [conflictKeys.action(name)],
  byTool: (_, tool) => [conflictKeys.tool(tool)],
  invocation: (_, id) => [conflictKeys.call(id)],
  running: () => [conflictKeys.calls],
}

const ofWorkers: KeysReadBy<WorkerView> = {
  byId: (found) => [found ? conflictKeys.worker(found.name) : conflictKeys.workers],
  byName: (_, name) => [conflictKeys.worker(name)],
  running: () => [conflictKeys.workers],
  withWorktree: () => [conflictKeys.workers],
}

const ofRuns: KeysReadBy<RunView> = {
  byId: (_, id) => [conflictKeys.run(id)],
  running: () => [conflictKeys.runs],
}

const ofClaims: KeysReadBy<ClaimView> = {
  at: (_, path) => [conflictKeys.claim(path)],
  inCheckout: () => [conflictKeys.claims],
  onPaths: (_, paths) => paths.map(conflictKeys.claim),
  othersOnPaths: (_, paths) => paths.map(conflictKeys.claim),
  below: () => [conflictKeys.claims],
  ofFiles: () => [conflictKeys.claims],
  of: () => [conflictKeys.claims],
  count: () => [conflictKeys.claims],
  countOf: () => [conflictKeys.claims],
}

const ofApprovals: KeysReadBy<ApprovalView> = {
  byId: () => [conflictKeys.approvals],
  open: () => [conflictKeys.approvals],
  count: () => [conflictKeys.approvals],
  of: () => [conflictKeys.approvals],
  lastOpenedNumber: () => [conflictKeys.approvals],
}

const ofNotices: KeysReadBy<NoticeView> = {
  find: () => [conflictKeys.notices],
  of: () => [conflictKeys.notices],
  hasAnyAbout: () => [conflictKeys.notices],
  count: () => [conflictKeys.notices],
}

/** Wraps a view so that `reads` collects the conflict keys that calls of its methods read. */
export function recordingView(view: View, reads: ReadKeys): View {
  const parts: Partial<View> = {
    actions: noting(view.actions, ofActions, reads),
    workers: noting(view.workers, ofWorkers, reads),
    runs: noting(view.runs, ofRuns, reads),
    claims: noting(view.claims, ofClaims, reads),
    approvals: noting(view.approvals, ofApprovals, reads),
    notices: noting(view.notices, ofNotices, reads),
  }
  return noting(view, ofView, reads, parts)
}

function noting<T extends object>(whole: T, listed: KeysReadBy<T>, reads: ReadKeys, parts: Partial<T> = {}): T {
  return new Proxy(whole, {
    get(_, name) {
      const part = parts[name as keyof T]
      if (part !== undefined) return part
      const asked = whole[name as keyof T]
      const keysRead = listed[name as keyof T] as ((...all: unknown[]) => readonly string[] | 'all') | undefined
      if (!keysRead || typeof asked !== 'function') reads.add('all')
      if (typeof asked !== 'function') return asked
      return (...all: unknown[]) => {
        const found = asked.apply(whole, all)
        if (keysRead) reads.add(keysRead(found, ...all))
        return found
      }
    },
  })
}

/** Returns the conflict keys that an entry with these facts changes. */
export function changedKeysOf(facts: readonly Fact[]): ChangedKeys {
  if (facts.length > 0 && facts.every(({ type }) => type === 'deliveries.noted')) return 'note'
  return [...new Set(facts.flatMap((fact) => factRowOf(fact).changedKeys(fact).map(keyText)))]
}

/**
 * Whether `writes` contains every key that the facts change. If one is missing, the cluster cannot see that a simultaneous decision depends on the facts.
 */
export function coversChangedKeys(writes: ChangedKeys, facts: readonly Fact[]): boolean {
  const changed = changedKeysOf(facts)
  if (changed === 'note') return true
  return writes !== 'note' && changed.every((key) => writes.includes(key))
}

const keyCharsMax = 200
/** Characters that PostgreSQL cannot store in a text: NUL, and half a surrogate pair. */
export const unstorableCharacters = /\0|\p{Surrogate}/u

/** Returns the form of a key that the cluster compares. A long key is hashed, because the cluster's index takes no long texts. */
export function keyText(key: string): string {
  if (key.length <= keyCharsMax && !unstorableCharacters.test(key)) return key
  return `sha256 ${createHash('sha256').update(JSON.stringify(key)).digest('base64url')}`
}
