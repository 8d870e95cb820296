// Decides a batch of commands on the replica (this machine's copy of a shared workspace). Each command sees the results of those before it in the batch, but
// the replica keeps none of these changes: it gets them back from the cluster as entries.

import { type Fact, type Ids, type Refusal, refusal } from '@agent-relay/sdk/protocol'
import { type CommandReply, newIdPrefixes, type Submission } from '../broker/engine.ts'
import { type RuleName, ruleOf } from '../core/decide.ts'
import { findObjection, type Objection } from '../core/facts/judge.ts'
import type { EntryDraft } from '../core/journal.ts'
import type { Command } from '../core/verdict.ts'
import type { View } from '../core/view.ts'
import type { World } from '../core/world.ts'
import type { Clock } from '../machine/clock.ts'
import type { Append, AppendResult, AssignedFields, SharedDraft, SharedEntry } from './cluster-journal.ts'
import { changedKeysOf, ReadKeys, recordingView } from './keys.ts'
import type { Replica } from './replica.ts'

export interface PendingCommand {
  submission: Submission<RuleName>
  resolve(reply: CommandReply): void
}

/** The decisions on a batch of commands. They take effect once the cluster has stored the append. */
export interface DecidedBatch {
  append: Append
  /** The commands that were decided. A command is missing if it has to wait for another command of this batch. */
  commands: DecidedCommand[]
}

interface DecidedCommand {
  pending: PendingCommand
  /** The reply to the command's sender. Its sequence number is filled in once the append is stored. */
  reply: CommandReply
  /** Index of this command's draft in the append; unset if the command is refused or changes nothing. */
  draft?: number
}

interface Decision {
  reply: CommandReply
  draft?: SharedDraft
}

export interface DecisionContext {
  workspace: string
  replica: Replica
  clock: Clock
  ids: Ids
  world: World
}

/**
 * Decides the commands in order. An entry whose facts cannot be applied would stop every machine, so the facts are applied to the replica first, in a
 * transaction that is rolled back. A plain message can always be applied: that is skipped unless a later command of the batch depends on it.
 */
export function decideBatch(batch: readonly PendingCommand[], deciding: DecisionContext): DecidedBatch {
  const { store } = deciding.replica
  const taken = new DecisionsSoFar()
  const waiting = [...batch]
  while (taken.isCertainlyApplicable && waiting.length > 0) {
    const pending = waiting[0] as PendingCommand
    if (!taken.has(pending)) {
      const reads = new ReadKeys()
      const decision = decideOne(pending.submission, deciding, reads)
      if (reads.includesAnyOf(taken.writes)) break
      taken.addDecision(pending, decision, reads)
    }
    waiting.shift()
  }
  if (!taken.isCertainlyApplicable || waiting.length > 0)
    store.runAndRollBack(() => {
      for (const draft of taken.drafts) store.append(draft)
      for (const pending of waiting) {
        if (taken.has(pending)) continue
        const reads = new ReadKeys()
        const draft = taken.addDecision(pending, decideOne(pending.submission, deciding, reads), reads)
        // There is no draft if the command is refused or changes nothing. `append` stores nothing if the command has an entry already; the cluster then
        // reports that entry.
        if (draft) store.append(draft)
      }
    })
  return taken.toBatch(deciding.replica)
}

/** The decisions of a batch so far. */
class DecisionsSoFar {
  readonly drafts: SharedDraft[] = []
  readonly writes = new Set<string>()
  /** Whether it is certain, without trying, that all drafts so far can be applied. */
  isCertainlyApplicable = true
  readonly #reads = new ReadKeys()
  readonly #commands: DecidedCommand[] = []
  readonly #asked = new Set<string>()
  readonly #moved = new Set<string>()

  /** Whether the batch has a command with this sender and id already. A repetition is not decided: it is answered later from the entry of the first. */
  has({ submission: { by, cause } }: PendingCommand): boolean {
    return this.#asked.has(JSON.stringify([by, cause]))
  }

  addDecision(pending: PendingCommand, { reply, draft }: Decision, reads: ReadKeys): SharedDraft | undefined {
    // COMPAT(0.1): in format 1, an append can move the home of an agent only once. A second move waits for the next append.
    const moved = (draft?.facts ?? []).flatMap((fact) => (fact.type === 'agent.homed' ? [fact.agent] : []))
    if (moved.some((agent) => this.#moved.has(agent))) return undefined
    for (const agent of moved) this.#moved.add(agent)
    const { by, cause } = pending.submission
    this.#asked.add(JSON.stringify([by, cause]))
    this.#reads.addAll(reads)
    this.#commands.push({ pending, reply, ...(draft ? { draft: this.drafts.length } : {}) })
    if (!draft) return undefined
    this.drafts.push(draft)
    if (draft.writes !== 'note') for (const key of draft.writes) this.writes.add(key)
    this.isCertainlyApplicable &&= isPlain(draft, pending.submission)
    return draft
  }

  toBatch({ position }: Replica): DecidedBatch {
    return { append: { position, reads: this.#reads.keys, drafts: this.drafts }, commands: this.#commands }
  }
}

/** Whether the draft is a single message, with a fresh id, in a conversation that exists already (the message's number is above 1). */
function isPlain({ facts }: EntryDraft, { newId }: Submission<RuleName>): boolean {
  const [fact] = facts
  return facts.length === 1 && fact?.type === 'message.created' && fact.n > 1 && newId === undefined
}

/**
 * Answers a command whose rule threw an error. The append claims to have read everything, so that the answer is given only if the replica lacked no entry.
 */
export function decideAsFault(pending: PendingCommand, { replica }: DecisionContext, error: Error): DecidedBatch {
  const reply = { refusal: refusal('fault', { why: error.message }) }
  return {
    append: { position: replica.position, reads: 'all', drafts: [] },
    commands: [{ pending, reply }],
  }
}

/** Turns the drafts of a stored append into entries, with the fields that the cluster has assigned. */
export function entriesOfAppend(
  { drafts }: Append,
  { numbered }: Extract<AppendResult, { kind: 'ok' }>,
  machine: string,
): SharedEntry[] {
  return drafts.map((draft, i) => ({ ...draft, ...(numbered[i] as AssignedFields), machine }))
}

/**
 * Answers `agent.register` for a known name from the replica alone, without storing anything, so that the agent can read its messages while the cluster does
 * not answer. The agent gets no new token, because it could not be stored; a changed profile is stored at its next registration.
 */
export function registerFromReplica(
  submission: Submission<'agent.register'>,
  deciding: DecisionContext,
): CommandReply | undefined {
  const asked = submission as unknown as Submission<RuleName>
  const { reply, draft } = decideOne(asked, deciding, new ReadKeys())
  const canWait = ({ type }: Fact) => type === 'agent.token-issued' || type === 'agent.updated'
  if ('refusal' in reply || !(draft?.facts ?? []).every(canWait)) return undefined
  return { ...reply, outcome: { ...reply.outcome, issued: false }, seq: deciding.replica.position.seq }
}

function decideOne(
  { rule, input, by, cause, session, digest, newId }: Submission<RuleName>,
  { workspace, replica, clock, ids, world }: DecisionContext,
  reads: ReadKeys,
): Decision {
  const at = clock.now()
  const command: Command<never> = {
    input: input as never,
    by,
    at,
    mint: newId ?? ids(newIdPrefixes[rule] ?? 'a'),
    session,
    world,
  }
  const view = recordingView(replica.store.view, reads)
  const verdict = ruleOf(rule)(view, command)
  if ('refusal' in verdict) return { reply: verdict }
  const objection = findObjection(view, world.machine as string, { by, facts: verdict.facts })
  if (objection) return { reply: voidFactsRefusal(view, workspace, objection) }
  const { facts, outcome, body, payload, found } = verdict
  const reply: CommandReply = { seq: 0, outcome, repeat: false, found }
  if (facts.length === 0) return { reply }
  const draft = { at, by, cause, facts, rule, digest: digest?.(), outcome, body, payload }
  return { reply, draft: { ...draft, writes: changedKeysOf(facts) } }
}

/** Makes the refusal for facts of this machine that every machine would ignore as a void entry. */
function voidFactsRefusal(view: View, workspace: string, { agent, type }: Objection): { refusal: Refusal } {
  if (agent === undefined && type === undefined) return { refusal: refusal('machine.revoked', { workspace }) }
  if (agent !== undefined && view.home(agent) !== undefined) return agentElsewhereRefusal(view, agent)
  return { refusal: refusal('machine.not-allowed', { type, owner: view.owner() }) }
}

/** Returns the refusal for a stored entry of this machine that all machines ignore (a void entry); undefined if the entry counts. */
export function voidRefusal(seq: number, { workspace, replica }: Pick<DecisionContext, 'workspace' | 'replica'>) {
  const why = replica.store.journal.originOf(seq)?.voidFor
  return why === undefined ? undefined : refusal('cluster.void', { workspace, why })
}

/** Makes the refusal for a command of an agent whose home is another machine, and names that machine. */
export function agentElsewhereRefusal(view: View, agent: string): { refusal: Refusal } {
  return { refusal: refusal('agent.elsewhere', { name: agent, machine: view.home(agent)?.machine }) }
}
