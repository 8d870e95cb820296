// Reconciling: after a failover to a standby that was behind, the cluster lacks entries that it had acknowledged, but the machines still have them. This
// machine makes a new copy of what the cluster has, submits again those lost entries that it had appended itself, and replaces its former copy by the
// result.
//
// The former copy stays unchanged until the new one is complete, so an interrupted reconciliation can be repeated: a command gets one entry, however often
// it is submitted. Each machine brings back only entries that it had appended, since it may not act for agents of other machines. What its own agents have
// done with other machines' messages is kept (store/awaited-receipts.ts) until those messages come back, so the machines may reconcile in any order.

import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Fact, refusal } from '@agent-relay/sdk/protocol'
import type { Engine, Submission } from '../broker/engine.ts'
import { EntryHub } from '../broker/hub.ts'
import { repeatedRegistration } from '../core/agents.ts'
import { addressOf, broadcast, generalChannel } from '../core/conversations.ts'
import type { RuleName } from '../core/decide.ts'
import { lastNumberThatFits } from '../core/halving.ts'
import type { JournalEntry } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { systemClock } from '../machine/clock.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import type { LocalEntry } from '../store/local-journal.ts'
import { markIndexOutdated } from '../store/search.ts'
import { Store } from '../store/store.ts'
import type { ClusterJournal } from './cluster-journal.ts'
import { catchUp, type WorkspaceMove } from './moving.ts'
import { Replica } from './replica.ts'
import { SharedEngine } from './shared-engine.ts'
import { isStopped, stopRefusal } from './stops.ts'

/** The numbers of entries that the cluster has lost and this machine still had, by what became of them. */
export interface ReconcileResult {
  lost: number
  /** Number of this machine's entries that were stored again. */
  restored: number
  /** Number of entries that other machines had appended: those machines have to bring them back. */
  others: number
  /** Number of this machine's entries that were not brought back, because they record what programs did, such as runs and workers, which is not repeated. */
  left: number
}

/** Reports progress: `done` of `of` entries have been examined. */
export type ReportProgress = (done: number, of: number) => void

/** The workspace in which lost entries are submitted again. */
interface Target {
  machine: string
  engine: Pick<Engine, 'submit'>
  replica: Replica
}

const nothing = (): ReconcileResult => ({ lost: 0, restored: 0, others: 0, left: 0 })

const pageEntries = 1_000

/** The part of the file name of a kept former copy, between the database's name and a timestamp. */
const keptSign = '.lost-'

/** Reconciles a workspace that is closed. `kept`: the path under which the former copy is kept; unset if there was nothing to reconcile. */
export async function reconcile(
  moving: WorkspaceMove,
  beside: readonly string[],
  tell: ReportProgress,
): Promise<ReconcileResult & { kept?: string }> {
  const { store: former, machine, name, id, cluster } = moving
  if (!(await isDiverged(name, cluster.journal(id), new Replica(former, new EntryHub(() => {}))))) return nothing()
  const { path } = former.database
  const freshPath = `${path}.new`
  removeDatabase(freshPath)
  const fresh = new Store(freshPath, beside, machine)
  let done: ReconcileResult
  try {
    const of = former.journal.lastSeq
    await catchUp({ ...moving, store: fresh }, (seq) => tell(Math.min(seq, of), of))
    done = await bringBackInto({ ...moving, store: fresh }, former, tell)
  } finally {
    fresh.close()
  }
  const kept = `${path}${keptSign}${moving.now()}`
  await former.copyTo(kept)
  syncFile(kept)
  syncFolder(dirname(kept))
  markIndexOutdated(join(dirname(path), 'search.db'))
  former.replaceWith(freshPath)
  removeDatabase(freshPath)
  return { ...done, kept }
}

/** Brings the contents of the former copy into the new copy, which has only what the cluster has. */
async function bringBackInto(moving: WorkspaceMove, former: Store, tell: ReportProgress): Promise<ReconcileResult> {
  const { name: workspace, id, store: fresh, machine, cluster, ids, now } = moving
  const replica = new Replica(fresh, new EntryHub(() => {}))
  const engine = new SharedEngine({
    ...{ workspace, machine, ids, journal: cluster.journal(id), replica },
    world: { machine, isLive: () => false, liveSession: () => undefined },
    clock: { ...systemClock, now },
    onTrouble: (error) => {
      throw error
    },
  })
  try {
    const common = lastCommon(former, fresh)
    const done = await bringBack({ machine, engine, replica }, former, tell)
    fresh.copyLocalEntries(known(former.local?.entriesAfter(0) ?? [], fresh), common)
    replica.awaitedReceipts.copyFrom(former)
    fresh.transact(() => fresh.outbox.copyFrom(former.outbox))
    return done
  } finally {
    engine.close(refusal('workspace.closed', { workspace }))
  }
}

/**
 * Brings back further entries into an open workspace: those that had to wait for another machine's entries, such as a message to an agent that had to be
 * brought back first. They are in the former copies that are kept beside the database at `path`.
 */
export async function restoreWaitingEntries(
  target: Target,
  path: string,
  tell: ReportProgress,
): Promise<ReconcileResult> {
  const all = nothing()
  for (const name of readdirSync(dirname(path)).filter((each) => each.startsWith(`${basename(path)}${keptSign}`))) {
    if (!/^\d+$/.test(name.slice(basename(path).length + keptSign.length))) continue
    const former = new Store(join(dirname(path), name), [], target.machine)
    try {
      const done = await bringBack(target, former, tell)
      target.replica.awaitedReceipts.copyFrom(former)
      for (const key of Object.keys(all) as (keyof ReconcileResult)[]) all[key] += done[key]
    } finally {
      former.close()
    }
  }
  return all
}

function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm', '.end']) rmSync(`${path}${end}`, { force: true })
}

/** Whether the cluster has lost entries that it had acknowledged. */
export async function isDiverged(workspace: string, journal: ClusterJournal, { position }: Replica): Promise<boolean> {
  const followed = await journal.follow(position, 1)
  if (followed.kind === 'diverged') return true
  if (isStopped(followed)) throw new RefusalError(stopRefusal(followed, { workspace, known: position.seq }))
  return false
}

/** Returns the number of the last entry that both copies have. They agree on all entries before it, and on none after it. */
function lastCommon(former: Store, fresh: Store): number {
  const isSame = (seq: number) => former.journal.originOf(seq)?.mark === fresh.journal.originOf(seq)?.mark
  return lastNumberThatFits(0, Math.min(former.journal.lastSeq, fresh.journal.lastSeq), isSame)
}

async function bringBack(
  { machine, engine, replica }: Target,
  former: Store,
  tell: ReportProgress,
): Promise<ReconcileResult> {
  const { store } = replica
  const done = nothing()
  for (const entry of entriesAfter(former, lastCommon(former, store))) {
    tell(entry.seq, former.journal.lastSeq)
    // A report of deliveries is skipped, because a new one is made anyway. An entry whose command has an answer in the new copy was brought back before.
    if (entry.rule === 'deliveries.note' || store.journal.recordedAnswer(entry.by, entry.cause)) continue
    done.lost++
    if (former.journal.originOf(entry.seq)?.machine !== machine) done.others++
    else if (await isStored(engine, entry, store, former)) done.restored++
    else done.left++
  }
  return done
}

function* entriesAfter(store: Store, seq: number): Generator<JournalEntry> {
  for (let since = seq; ; ) {
    const entries = store.journal.entriesAfter(since, pageEntries)
    yield* entries
    if (entries.length < pageEntries) return
    since = (entries.at(-1) as JournalEntry).seq
  }
}

async function isStored(engine: Target['engine'], entry: JournalEntry, fresh: Store, former: Store): Promise<boolean> {
  const asked = askedOf(entry, fresh, former)
  if (!asked) return false
  const { by, cause, digest } = entry
  const reply = await engine.submit({ ...asked, by, cause, ...(digest === undefined ? {} : { digest: () => digest }) })
  if (!('refusal' in reply)) return true
  // Stops if the cluster cannot be reached, for now or for good: a repeated reconciliation continues with this entry.
  if (/^(?:cluster\.|machine\.|fault$)/.test(reply.refusal.code)) throw new RefusalError(reply.refusal)
  return false
}

type Asked = { [R in RuleName]: Pick<Submission<R>, 'rule' | 'input' | 'newId'> }[RuleName]

/**
 * Returns the command that led to an entry, if such commands are submitted again: those that register agents, create or join channels, and send messages.
 */
function askedOf({ rule, by, facts, body = '' }: JournalEntry, fresh: Store, former: Store): Asked | undefined {
  const { view } = fresh
  const fact = <T extends Fact['type']>(type: T) =>
    facts.find((each): each is Extract<Fact, { type: T }> => each.type === type)
  const [joined, made] = [fact('channel.joined'), fact('channel.created')]
  const after = (channel: string) => stayFrom(facts, channel, fresh, former)
  const message = rule === 'message.send' ? fact('message.created') : undefined
  if (message) {
    const { id: mint, conversation, kind, thread, replyTo } = message
    const isKnown = replyTo !== undefined && view.message(replyTo) !== undefined
    const place = isKnown ? { replyTo } : { thread }
    return {
      rule,
      input: { to: addressOf(conversation, by), body, kind, create: true, ...place },
      newId: mint,
    } as Asked
  }
  if (rule === 'agent.register') {
    const registered = fact('agent.registered')
    const input = repeatedRegistration(registered, fact('agent.token-issued'))
    const heardFrom = registered && { general: after(generalChannel), broadcast: after(broadcast) }
    return input && { rule, input: { ...input, heardFrom }, newId: registered?.id }
  }
  if (rule === 'channel.create' && made) return { rule, input: { channel: made.channel } }
  if (rule === 'channel.join' && joined)
    return { rule, input: { channel: joined.channel, create: true, after: after(joined.channel) } }
  return undefined
}

/**
 * Returns the number of the message after which the agent's membership in a channel begins again. It is so low that the agent gets again those messages that
 * it had received there and that are back already.
 */
function stayFrom(facts: readonly Fact[], channel: string, fresh: Store, former: Store): number | undefined {
  const joined = facts.find((fact) => fact.type === 'channel.joined' && fact.channel === channel)
  if (joined?.type !== 'channel.joined') return undefined
  const got = former.history.idsAfter(channel, joined.n).flatMap((id) => fresh.view.message(id)?.n ?? [])
  return got.length === 0 ? undefined : Math.min(...got) - 1
}

/** Leaves out facts about agents that were not brought back. A fact about a missing message may stay: it has no effect. */
function* known(entries: Iterable<LocalEntry>, { view }: Store): Generator<LocalEntry> {
  for (const entry of entries) {
    const isKnown = ({ agent }: { agent?: string }) => agent === undefined || view.agent(agent) !== undefined
    yield { ...entry, facts: entry.facts.filter((fact) => isKnown(fact as { agent?: string })) }
  }
}
