// The invariants of homes at the end of a seed: each machine has handed out the mail of its own agents alone, each message once, and in the end all
// of them know the same about it.

import type { Fact } from '@agent-relay/sdk/protocol'
import type { SharedEntry } from '../../../packages/relay/src/cluster/cluster-journal.ts'
import type { LocalEntry } from '../../../packages/relay/src/store/local-journal.ts'
import { derivedTables } from '../../../packages/relay/src/store/migrations.ts'
import type { Store } from '../../../packages/relay/src/store/store.ts'
import { same } from '../audit.ts'
import type { ClusterRun } from './cluster-run.ts'

type Homed = Extract<Fact, { type: 'agent.homed' }>

/** Which columns all machines must agree on, where that is not all of them. */
const columns: Partial<Record<string, string>> = {
  // The hold of a session concerns its home alone.
  receipts:
    'message, agent, offered_at, route, read_at FROM receipts WHERE offered_at IS NOT NULL OR read_at IS NOT NULL',
  // The cursor saves looking at what is read; the same mail is unread, whichever it is.
  members: 'agent, conversation, joined_n, left_n FROM members',
  meta: "name, value FROM meta WHERE name <> 'noted'",
}

/** What a store knows of the shared workspace. */
export function rowsOf({ database, view }: Store): string {
  const rows = [...derivedTables, 'journal', 'messages', 'bodies', 'payloads'].map((table) => {
    const found = database.prepare(`SELECT ${columns[table] ?? `* FROM ${table}`}`).all()
    return `${table} ${JSON.stringify(found)}`
  })
  const unread = [...view.agents()].map(({ name }) => {
    const ids = [...view.inbox.unread(name, {})].flatMap((each) => each?.head.id ?? [])
    return `unread of ${name}: ${ids}`
  })
  return [...rows, ...unread].join('\n')
}

/** One time that a message was put before an agent, or that the agent has read it. */
interface Shown {
  kind: 'offered' | 'read'
  machine: string
  epoch: number
  seq: number
}

export function auditHomes({ machines, hasLost }: ClusterRun, entries: SharedEntry[]): void {
  const homes = homesOf(entries)
  // What a failover has lost may have been a move.
  if (hasLost) return
  const shown = new Map<string, Shown[]>()
  for (const { name, store } of machines)
    for (const entry of store.local?.entriesAfter(0) ?? []) add(shown, homes, name, entry)
  for (const [what, times] of shown) shownOnce(what, times, homes)
}

type Homes = Map<string, { seq: number; fact: Homed }[]>

function homesOf(entries: SharedEntry[]): Homes {
  const homes: Homes = new Map()
  for (const { seq, facts } of entries)
    for (const fact of facts)
      if (fact.type === 'agent.homed') homes.set(fact.agent, [...(homes.get(fact.agent) ?? []), { seq, fact }])
  return homes
}

/** What a machine has done with the mail of an agent, which was at home there as far as the machine knew. */
function add(shown: Map<string, Shown[]>, homes: Homes, machine: string, { seq, afterSeq, facts }: LocalEntry): void {
  for (const fact of facts) {
    if (!fact.type.startsWith('delivery.')) throw new Error(`${machine} has decided ${fact.type} by itself`)
    const { agent, message, type } = fact as Extract<Fact, { type: 'delivery.read' | 'delivery.offered' }>
    const home = (homes.get(agent) ?? []).findLast((each) => each.seq <= afterSeq)?.fact
    same(`who hands out the mail of ${agent} after entry ${afterSeq}`, machine, home?.machine)
    if (type !== 'delivery.offered' && type !== 'delivery.read') continue
    if (fact.type === 'delivery.offered' && isOver(fact.session, machine, homes.get(agent) ?? [], home)) continue
    const kind = type === 'delivery.read' ? 'read' : 'offered'
    const what = JSON.stringify([agent, message])
    shown.set(what, [...(shown.get(what) ?? []), { kind, machine, epoch: home?.epoch as number, seq }])
  }
}

/** The session has ended while its question waited, since its agent has left the machine and come back: nobody was shown anything. */
function isOver(session: string | undefined, machine: string, history: { fact: Homed }[], home?: Homed): boolean {
  const left = history.filter(({ fact }) => fact.machine === machine && fact.epoch < (home?.epoch ?? 0)).length
  return session !== undefined && !session.endsWith(`@${left}`)
}

/**
 * At one home a message is handed to one session, and not after it was read. At the next it is not handed out once it was read, unless that one
 * took the agent over and said so.
 */
function shownOnce(what: string, times: Shown[], homes: Homes): void {
  const [agent] = JSON.parse(what) as [string]
  const takeOvers = (homes.get(agent) ?? []).filter(({ fact }) => fact.isTakeOver).map(({ fact }) => fact.epoch)
  for (const later of times) {
    if (later.kind !== 'offered') continue
    const before = times.filter(({ epoch, seq }) => epoch === later.epoch && seq < later.seq)
    if (before.length > 0) throw new Error(`${what} was shown twice on ${later.machine}: ${JSON.stringify(times)}`)
    const readAt = times.filter(({ kind, epoch }) => kind === 'read' && epoch < later.epoch).map(({ epoch }) => epoch)
    const isSaid = readAt.every((epoch) => takeOvers.some((taken) => taken > epoch && taken <= later.epoch))
    if (!isSaid) throw new Error(`${what} was read, and was shown again on ${later.machine}: ${JSON.stringify(times)}`)
  }
}
