// Reconciling: after a failover to a copy that lagged, the cluster lacks what it had acknowledged, and the machines still have it. This one begins
// again with what the cluster has, asks it once more for what it had stored there itself, and takes the result in the place of its former copy.
//
// Nothing of the former copy is changed before the new one is whole, so that this can be begun again wherever it was cut off: a command has one
// entry, however often it is asked. Each machine brings back what it had appended; for the others' agents it may not speak. What its own agents had
// read of the others' messages is kept until those come back (store/awaited-receipts.ts), in whichever order the machines do this.

import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Fact, refusal } from '@agent-relay/sdk/protocol'
import type { Engine, Submission } from '../broker/engine.ts'
import { Hub } from '../broker/hub.ts'
import { registeredAgain } from '../core/agents.ts'
import { addressOf, broadcast, generalChannel } from '../core/conversations.ts'
import type { RuleName } from '../core/decide.ts'
import type { JournalEntry } from '../core/journal.ts'
import { RefusalError } from '../core/refusal-error.ts'
import { systemClock } from '../machine/clock.ts'
import { syncFile, syncFolder } from '../machine/sync.ts'
import type { LocalEntry } from '../store/local-journal.ts'
import { outdate } from '../store/search.ts'
import { Store } from '../store/store.ts'
import type { ClusterJournal } from './cluster-journal.ts'
import { catchUp, type Moving } from './moving.ts'
import { Replica } from './replica.ts'
import { SharedEngine } from './shared-engine.ts'
import { isStopped, stopRefusal } from './stops.ts'

/** What has become of the entries that the cluster had lost and this machine had. */
export interface Reconciled {
  lost: number
  /** Of this machine: stored again. */
  restored: number
  /** Of other machines, which bring back their own. */
  others: number
  /** Of this machine, and not brought back: what programs did, such as runs and workers, is not done again. */
  left: number
}

/** Told as it goes on: of how many entries how many were looked at. */
export type Tell = (done: number, of: number) => void

/** Where what was lost is given again. */
interface Target {
  machine: string
  engine: Pick<Engine, 'submit'>
  replica: Replica
}

const nothing = (): Reconciled => ({ lost: 0, restored: 0, others: 0, left: 0 })

const pageEntries = 1_000

/** What the name of a former copy has after that of the database, before the time. */
const keptSign = '.lost-'

/** Of a workspace that is closed. `kept`: where the former copy lies; unset where somebody else has done it meanwhile. */
export async function reconcile(
  moving: Moving,
  beside: readonly string[],
  tell: Tell,
): Promise<Reconciled & { kept?: string }> {
  const { store: former, machine, name, id, cluster } = moving
  if (!(await isDiverged(name, cluster.journal(id), new Replica(former, new Hub(() => {}))))) return nothing()
  const { path } = former.database
  const freshPath = `${path}.new`
  removeDatabase(freshPath)
  const fresh = new Store(freshPath, beside, machine)
  let done: Reconciled
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
  outdate(join(dirname(path), 'search.db'))
  former.replaceWith(freshPath)
  removeDatabase(freshPath)
  return { ...done, kept }
}

/** All that the former copy has, into one that has only what the cluster has. */
async function bringBackInto(moving: Moving, former: Store, tell: Tell): Promise<Reconciled> {
  const { name: workspace, id, store: fresh, machine, cluster, ids, now } = moving
  const replica = new Replica(fresh, new Hub(() => {}))
  const engine = new SharedEngine({
    ...{ workspace, machine, ids, journal: cluster.journal(id), replica },
    world: { machine, isLive: () => false, holder: () => undefined },
    clock: { ...systemClock, now },
    onTrouble: (error) => {
      throw error
    },
  })
  try {
    const common = lastCommon(former, fresh)
    const done = await bringBack({ machine, engine, replica }, former, tell)
    fresh.takeLocal(known(former.local?.after(0) ?? [], fresh), common)
    replica.awaited.takeFrom(former)
    fresh.transact(() => fresh.outbox.takeFrom(former.outbox))
    return done
  } finally {
    engine.close(refusal('workspace.closed', { workspace }))
  }
}

/**
 * Of a workspace that is open and goes on: what could not be brought back before another machine had brought back its own, such as a message to an
 * agent of that machine. It is in the former copies, `path` being that of the database.
 */
export async function bringBackMore(target: Target, path: string, tell: Tell): Promise<Reconciled> {
  const all = nothing()
  for (const name of readdirSync(dirname(path)).filter((each) => each.startsWith(`${basename(path)}${keptSign}`))) {
    if (!/^\d+$/.test(name.slice(basename(path).length + keptSign.length))) continue
    const former = new Store(join(dirname(path), name), [], target.machine)
    try {
      const done = await bringBack(target, former, tell)
      target.replica.awaited.takeFrom(former)
      for (const key of Object.keys(all) as (keyof Reconciled)[]) all[key] += done[key]
    } finally {
      former.close()
    }
  }
  return all
}

function removeDatabase(path: string): void {
  for (const end of ['', '-wal', '-shm', '.end']) rmSync(`${path}${end}`, { force: true })
}

/** The cluster has lost what it had acknowledged. */
export async function isDiverged(workspace: string, journal: ClusterJournal, { known }: Replica): Promise<boolean> {
  const followed = await journal.follow(known, 1)
  if (followed.kind === 'diverged') return true
  if (isStopped(followed)) throw new RefusalError(stopRefusal(followed, { workspace, known: known.seq }))
  return false
}

/** The number of the last entry that both have. What was the same up to there was the same before. */
function lastCommon(former: Store, fresh: Store): number {
  const isSame = (seq: number) => former.journal.originOf(seq)?.mark === fresh.journal.originOf(seq)?.mark
  let [low, high] = [0, Math.min(former.journal.lastSeq, fresh.journal.lastSeq)]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (isSame(middle)) low = middle
    else high = middle - 1
  }
  return low
}

async function bringBack({ machine, engine, replica }: Target, former: Store, tell: Tell): Promise<Reconciled> {
  const { store } = replica
  const done = nothing()
  for (const entry of entriesAfter(former, lastCommon(former, store))) {
    tell(entry.seq, former.journal.lastSeq)
    // A note is told again by itself; and what is there was brought back before.
    if (entry.rule === 'deliveries.note' || store.journal.answered(entry.by, entry.cause)) continue
    done.lost++
    if (former.journal.originOf(entry.seq)?.machine !== machine) done.others++
    else if (await isStored(engine, entry, store, former)) done.restored++
    else done.left++
  }
  return done
}

function* entriesAfter(store: Store, seq: number): Generator<JournalEntry> {
  for (let since = seq; ; ) {
    const entries = store.journal.follow(since, pageEntries)
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
  // The way to the cluster is cut, for now or for good: begun again, this goes on.
  if (/^(?:cluster\.|machine\.|fault$)/.test(reply.refusal.code)) throw new RefusalError(reply.refusal)
  return false
}

type Asked = { [R in RuleName]: Pick<Submission<R>, 'rule' | 'input' | 'mint'> }[RuleName]

/** The command that such an entry comes from, as far as it is given again: names, who is in which channel, and what was said. */
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
    return { rule, input: { to: addressOf(conversation, by), body, kind, create: true, ...place }, mint } as Asked
  }
  if (rule === 'agent.register') {
    const registered = fact('agent.registered')
    const input = registeredAgain(registered, fact('agent.token-issued'))
    const heardFrom = registered && { general: after(generalChannel), broadcast: after(broadcast) }
    return input && { rule, input: { ...input, heardFrom }, mint: registered?.id }
  }
  if (rule === 'channel.create' && made) return { rule, input: { channel: made.channel } }
  if (rule === 'channel.join' && joined)
    return { rule, input: { channel: joined.channel, create: true, after: after(joined.channel) } }
  return undefined
}

/** The number of a channel after which such a stay begins now: what the agent got there before, and others have brought back already, it gets again. */
function stayFrom(facts: readonly Fact[], channel: string, fresh: Store, former: Store): number | undefined {
  const joined = facts.find((fact) => fact.type === 'channel.joined' && fact.channel === channel)
  if (joined?.type !== 'channel.joined') return undefined
  const got = former.history.idsAfter(channel, joined.n).flatMap((id) => fresh.view.message(id)?.n ?? [])
  return got.length === 0 ? undefined : Math.min(...got) - 1
}

/** What concerns an agent that was not brought back is left out. What concerns a message that was not changes nothing. */
function* known(entries: Iterable<LocalEntry>, { view }: Store): Generator<LocalEntry> {
  for (const entry of entries) {
    const isKnown = ({ agent }: { agent?: string }) => agent === undefined || view.agent(agent) !== undefined
    yield { ...entry, facts: entry.facts.filter((fact) => isKnown(fact as { agent?: string })) }
  }
}
