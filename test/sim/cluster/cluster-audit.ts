// The invariants of a shared workspace at the end of a seed, whatever failed on the way.

import { isDeepStrictEqual } from 'node:util'
import { EntryHub } from '../../../packages/relay/src/broker/hub.ts'
import type { SharedEntry } from '../../../packages/relay/src/cluster/cluster-journal.ts'
import { Replica } from '../../../packages/relay/src/cluster/replica.ts'
import { ruleOf } from '../../../packages/relay/src/core/decide.ts'
import { Store } from '../../../packages/relay/src/store/store.ts'
import { same } from '../audit.ts'
import type { Asked, ClusterRun } from './cluster-run.ts'
import { forger } from './forger.ts'
import { auditHomes, rowsOf } from './home-audit.ts'
import { giveBack, lend } from './kept-database.ts'

export function auditCluster(run: ClusterRun): void {
  const { cluster, machines, asked, hasLost } = run
  const database = lend()
  try {
    const whole = new Store(database.open())
    const all = [...cluster.entries]
    refusals(new Replica(whole, new EntryHub(() => {})), all, hasLost ? [] : asked)
    const entries = counting(whole, all)
    numbers(entries)
    once(entries)
    auditHomes(run, entries)
    if (!hasLost) acknowledged(entries, asked)
    if (!hasLost) answered(asked)
    const rows = rowsOf(whole)
    for (const { name, store, stopped } of machines) {
      if (stopped === undefined) {
        same(`the rows of ${name}`, rowsOf(store), rows)
        continue
      }
      if (!hasLost) throw new Error(`${name} has stopped: ${stopped}`)
      const isAlong = isPrefix(store, all)
      if (stopped !== 'diverged' || isAlong)
        throw new Error(`${name} has stopped, ${stopped}, and was along: ${isAlong}`)
    }
  } finally {
    giveBack(database)
  }
}

/** Forged entries answer no command and have no facts that count; whatever an honest machine has appended does. */
function counting({ journal }: Store, entries: SharedEntry[]): SharedEntry[] {
  const voids = journal.voidEntries(entries.length)
  const wrong = voids.find(({ machine }) => machine !== forger)
  if (wrong) throw new Error(`entry ${wrong.seq} of ${wrong.machine} is ignored: ${wrong.why}`)
  const numbers = new Set(voids.map(({ seq }) => seq))
  return entries.map((entry) => (numbers.has(entry.seq) ? { ...entry, cause: `void ${entry.seq}`, facts: [] } : entry))
}

/** The replica holds nothing that the cluster does not. */
function isPrefix(store: Store, entries: SharedEntry[]): boolean {
  const { journal } = store
  return isDeepStrictEqual(
    journal.read(0, 1_000_000).map(({ seq }) => journal.originOf(seq)?.mark),
    entries.slice(0, journal.lastSeq).map(({ mark }) => mark),
  )
}

/** No gap in the journal, nor in any conversation; time does not run back. */
function numbers(entries: SharedEntry[]): void {
  const places = new Map<string, number>()
  for (const [i, { seq, at, facts }] of entries.entries()) {
    same('the number of an entry', seq, i + 1)
    if (at < (entries[i - 1]?.at ?? 0)) throw new Error(`the time of ${seq} runs back`)
    for (const fact of facts) {
      if (fact.type === 'channel.removed') places.delete(fact.channel)
      if (fact.type !== 'message.created') continue
      same(`the number in ${fact.conversation}`, fact.n, (places.get(fact.conversation) ?? 0) + 1)
      places.set(fact.conversation, fact.n)
    }
  }
}

/** A command has one entry. */
function once(entries: SharedEntry[]): void {
  const causes = new Set<string>()
  for (const { by, cause } of entries) {
    const command = `${by} ${cause}`
    if (causes.has(command)) throw new Error(`the command ${command} has two entries`)
    causes.add(command)
  }
}

/** Whatever was answered as stored is there, under the number that was told, and answered the same to all who asked. */
function acknowledged(entries: SharedEntry[], asked: Asked[]): void {
  const stored = new Map(entries.map((entry) => [`${entry.by} ${entry.cause}`, entry]))
  for (const each of asked) {
    const { submission, reply } = each
    const { by, cause, rule } = submission
    const entry = stored.get(`${by} ${cause}`)
    if (!reply) continue
    if ('refusal' in reply) {
      if (reply.refusal.code === 'cluster.unreachable') unsent(entry, asked, each)
      if (reply.refusal.code === 'fault') throw new Error(`${cause} of ${by} failed: ${reply.refusal.message}`)
      continue
    }
    const isNothing = !entry && reply.outcome !== undefined && !('id' in reply.outcome && rule === 'message.send')
    if (!entry && !isNothing) throw new Error(`${cause} of ${by} was acknowledged and is not there`)
    if (entry && (reply.repeat || reply.seq === entry.seq)) {
      same(`the number of ${cause}`, reply.seq, entry.seq)
      same(`the answer to ${cause}`, reply.outcome, entry.outcome)
    }
  }
}

/** Once all is well again, whoever asks is answered. */
function answered(asked: Asked[]): void {
  for (const { submission, reply } of new Map(asked.map((each) => [each.submission, each])).values())
    if (!reply || ('refusal' in reply && !isAboutState(reply.refusal.code)))
      throw new Error(`${submission.cause} was asked when all was well, and the answer was ${JSON.stringify(reply)}`)
}

/** "Nothing was stored" was true when it was said, unless somebody else had asked the same. */
function unsent(entry: SharedEntry | undefined, asked: Asked[], { submission, headAfter }: Asked): void {
  const others = asked.filter((other) => other.submission === submission && other.headBefore <= headAfter)
  if (entry && entry.seq <= headAfter && others.length === 1)
    throw new Error(`${submission.cause} was said not to be stored, and is entry ${entry.seq}`)
}

/** Every refusal was true at some moment between the call and its answer. The store has all entries then. */
function refusals(replica: Replica, entries: SharedEntry[], asked: Asked[]): void {
  const { store } = replica
  const open = new Set<Asked>()
  const told = asked.filter(({ reply }) => reply && 'refusal' in reply && isAboutState(reply.refusal.code))
  for (let head = 0; head <= entries.length; head++) {
    const next = entries[head - 1]
    if (next) replica.apply([next])
    for (const each of told) if (each.headBefore === head) open.add(each)
    for (const each of open) {
      if (isTrue(store, each)) open.delete(each)
      else if (each.headAfter <= head) throw new Error(`${each.submission.cause} was refused, and that was never true`)
    }
  }
}

/** Not about the way there. */
function isAboutState(code: string): boolean {
  return !/^(?:cluster|machine)\.|^fault$|^call\./.test(code)
}

function isTrue(store: Store, { submission, machine, reply, at }: Asked): boolean {
  const { rule, input, by, session } = submission
  const world = { machine, isLive: () => false, liveSession: (hold: string) => hold }
  const home = store.view.home(by)
  const code = reply && 'refusal' in reply ? reply.refusal.code : undefined
  if (code === 'agent.elsewhere' && home && home.machine !== machine) return true
  if (code === 'agent.required') return home === undefined
  const verdict = ruleOf(rule)(store.view, { input: input as never, by, at, mint: 'm_audit', session, world })
  if ('refusal' in verdict) return verdict.refusal.code === code
  // Entering the channel is a command of its own there.
  const channel = rule === 'inbox.take' ? (input as { channel?: string }).channel : undefined
  return channel !== undefined && code === 'channel.unknown' && store.view.lastNumber(channel) === undefined
}
