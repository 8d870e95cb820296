// Keys: what a decision has read of the workspace, and what a fact changes. Where two daemons decide at once, the cluster compares them: a
// decision stands if nobody has written a key that it read.
//
// A method of the view that is not listed here reads everything, so that forgetting one costs speed and never truth. What was not found is
// read as well. A key is a letter for its kind and what is meant; the letter alone is the whole kind, which every fact of that kind writes.
//
//   a agents by name     h names and handles by what they read like     c conversations and their numbers     e whether one exists
//   m stays              # the list of channels    p the policy          t reactions to a message              x actions by tool
//   i calls of actions   w workers by name         r runs by id          f claims, by the file's path
//   q approvals

import { createHash } from 'node:crypto'
import { type Fact, toolNameOf } from '@agent-relay/sdk/protocol'
import { handleKey } from '../core/handles.ts'
import type { ApprovalView, ClaimView, RunView, View, WorkerView } from '../core/view.ts'
import type { Append } from './cluster-journal.ts'

/** PostgreSQL takes keys of 300 characters. */
const keyPathCharsMax = 250

/** What decisions have read, taken together. */
export class Reads {
  readonly #keys = new Set<string>()
  #isAll = false

  note(keys: readonly string[] | 'all'): void {
    if (keys === 'all') this.#isAll = true
    else for (const key of keys) this.#keys.add(key)
  }

  /** Does a decision that read these depend on what was written? */
  meets(written: ReadonlySet<string>): boolean {
    if (this.#isAll) return written.size > 0
    for (const key of this.#keys) if (written.has(key)) return true
    return false
  }

  add(others: Reads): void {
    this.#isAll ||= others.#isAll
    this.note([...others.#keys])
  }

  get value(): Exclude<Append['reads'], 'none'> {
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
  policy: () => ['p'],
  agent: (_, name) => [`a:${name}`],
  home: (_, name) => [`a:${name}`],
  isRetired: (_, name) => [`a:${name}`],
  // An update does not say what the agent was called before, so it writes the whole kind.
  agentsCalled: (_, text) => [`h:${handleKey(text)}`, 'h'],
  agents: () => ['a'],
  channels: () => ['#'],
  lastNumber: (_, conversation) => [`c:${conversation}`],
  isMember: (_, agent, conversation) => [stay(agent, conversation), `e:${conversation}`],
  // A message never changes. One that is not there may still come; a key for each message would cost every send.
  message: (found, id) => (!found && id.startsWith(messageIdStart) ? 'all' : []),
  beginning: () => [],
  sentAt: (_, conversation) => [`c:${conversation}`],
  // Whoever registers may be given stays that begin before the message.
  isRecipient: (_, agent) => [`a:${agent}`],
  hasReacted: (_, __, message) => [`t:${message.id}`],
  actions: () => ['x'],
  action: (_, name) => [`x:${toolNameOf(name)}`],
  actionOfTool: (_, tool) => [`x:${tool}`],
  invocation: (_, id) => [`i:${id}`],
  runningInvocations: () => ['i'],
}

const ofWorkers: Listed<WorkerView> = {
  byId: (found) => [found ? `w:${found.name}` : 'w'],
  byName: (_, name) => [`w:${name}`],
  running: () => ['w'],
  withWorktree: () => ['w'],
}

const ofRuns: Listed<RunView> = {
  byId: (_, id) => [`r:${id}`],
  running: () => ['r'],
}

const ofClaims: Listed<ClaimView> = {
  at: (_, path) => [fileKey(path)],
  inCheckout: () => ['f'],
  among: (_, paths) => paths.map(fileKey),
  othersAmong: (_, paths) => paths.map(fileKey),
  below: () => ['f'],
  ofFiles: () => ['f'],
  of: () => ['f'],
  count: () => ['f'],
  countOf: () => ['f'],
}

const ofApprovals: Listed<ApprovalView> = {
  byId: () => ['q'],
  open: () => ['q'],
  count: () => ['q'],
  of: () => ['q'],
  last: () => ['q'],
}

/** The same view; what is asked of it is noted. */
export function recordingView(view: View, reads: Reads): View {
  const parts: Partial<View> = {
    workers: noting(view.workers, ofWorkers, reads),
    runs: noting(view.runs, ofRuns, reads),
    claims: noting(view.claims, ofClaims, reads),
    approvals: noting(view.approvals, ofApprovals, reads),
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

/** A path may be longer than a key. */
function fileKey(path: string): string {
  return `f:${path.length <= keyPathCharsMax ? path : createHash('sha256').update(path).digest('hex')}`
}

function stay(agent: string, conversation: string): string {
  return `m:${agent} ${conversation}`
}

type Writes = { readonly [T in Fact['type']]: (fact: Extract<Fact, { type: T }>) => string[] }

const nothing = () => []
const ofWorker = ({ worker }: { worker: string }) => [`w:${worker}`, 'w']
const ofRun = ({ id }: { id: string }) => [`r:${id}`, 'r']
const ofAction = ({ name }: { name: string }) => [`x:${toolNameOf(name)}`, 'x']
const ofCall = ({ id }: { id: string }) => [`i:${id}`, 'i']
const ofStay = ({ agent, channel }: { agent: string; channel: string }) => [stay(agent, channel)]
const ofChannel = ({ channel }: { channel: string }) => [`c:${channel}`, `e:${channel}`, '#']
const ofClaim = ({ path }: { path: string }) => [fileKey(path), 'f']
const ofReaction = ({ message }: { message: string }) => [`t:${message}`]

/** A fact that no rule can see the effect of writes nothing. Rules see no tokens, and see receipts only in the lane of their machine. */
const writes: Writes = {
  'workspace.began': nothing,
  'workspace.key-issued': nothing,
  'workspace.restored': () => ['w', 'r'],
  'workspace.policy-set': () => ['p'],
  'agent.registered': ({ agent: { name, handle } }) => {
    const called = handle === undefined ? [name] : [name, handle]
    return [`a:${name}`, 'a', ...called.map((text) => `h:${handleKey(text)}`)]
  },
  'agent.updated': ({ agent: { name } }) => [`a:${name}`, 'a', 'h'],
  'agent.token-issued': nothing,
  'agent.tokens-revoked': nothing,
  'agent.retired': ({ agent }) => [`a:${agent}`, 'a', 'h'],
  'agent.homed': ({ agent }) => [`a:${agent}`],
  'agent.briefed': nothing,
  'deliveries.noted': nothing,
  'channel.created': ofChannel,
  'channel.joined': ofStay,
  'channel.left': ofStay,
  'channel.removed': ofChannel,
  'conversation.opened': ({ conversation, members }) => {
    return [`c:${conversation}`, `e:${conversation}`, ...members.map((name) => stay(name, conversation))]
  },
  'message.created': ({ conversation }) => [`c:${conversation}`],
  'delivery.offered': nothing,
  'delivery.held': nothing,
  'delivery.released': nothing,
  'delivery.read': nothing,
  'reaction.added': ofReaction,
  'reaction.removed': ofReaction,
  'action.registered': ofAction,
  'action.withdrawn': ofAction,
  'action.invoked': ofCall,
  'action.completed': ofCall,
  'worker.wished': ofWorker,
  'worker.wish-changed': ofWorker,
  'worker.changed': ofWorker,
  'worker.worktree-removed': ofWorker,
  'run.started': ofRun,
  'run.completed': ofRun,
  'run.stopped': ofRun,
  'claim.made': ofClaim,
  'claim.renewed': ofClaim,
  'claim.ended': ofClaim,
  'claim.denied': nothing,
  'claim.passed': nothing,
  'approval.opened': () => ['q'],
  'approval.closed': () => ['q'],
  'spend.noted': nothing,
}

/** The keys that a fact changes. */
export function keysOf(fact: Fact): string[] {
  return (writes[fact.type] as (fact: Fact) => string[])(fact)
}

/** Facts of a later version are not known here. */
export function isKnownFact({ type }: { type: string }): boolean {
  return Object.hasOwn(writes, type)
}
