// The cost of a send into a shared workspace beside its floor: a bare append to the same PostgreSQL, of as many entries.

import { join } from 'node:path'
import { makeIds } from '@agent-relay/sdk/wire'
import { EntryHub } from 'agent-relay/dist/broker/hub.js'
import { type ClusterJournal, type JournalPosition, journalStart } from 'agent-relay/dist/cluster/cluster-journal.js'
import { beginMoveIn, finishMoveIn } from 'agent-relay/dist/cluster/postgres/moving.js'
import { PostgresCluster } from 'agent-relay/dist/cluster/postgres/postgres-cluster.js'
import { Replica } from 'agent-relay/dist/cluster/replica.js'
import { SharedEngine } from 'agent-relay/dist/cluster/shared-engine.js'
import { systemClock } from 'agent-relay/dist/machine/clock.js'
import { Store } from 'agent-relay/dist/store/store.js'
import { temporaryFolder } from './child.ts'
import { measureElsewhere } from './elsewhere.ts'
import { median, quantile } from './figures.ts'
import { Machines, measureIdleMachines } from './machines.ts'
import { PostgresServer } from './postgres.ts'
import { ms, type Rounds } from './sends.ts'
import type { Measure } from './table.ts'

const bodyBytes = 200
const agents = Array.from({ length: 100 }, (_, i) => `a${i}`)
const ids = makeIds()

interface Answer {
  perSecond: number
  p50Ms: number
}

/** Three machines share another workspace on the same server all the while, as a team's would. */
export async function measureCluster({ rounds, ms: lengthMs }: Rounds): Promise<Measure[]> {
  const server = await PostgresServer.start()
  const machines = new Machines(server)
  await machines.add(3)
  const idle = await measureIdleMachines(server, lengthMs * 10)
  const elsewhere = await measureElsewhere(server, machines, { rounds, ms: lengthMs * 2 })
  const cluster = new PostgresCluster(await server.join('bench'))
  const engine = await sharedEngine(cluster)
  const bare = await bareAppends(cluster)
  const many: [Answer, Answer][] = []
  const single: [Answer, Answer][] = []
  for (let i = 0; i <= rounds; i++) {
    const [each64, each1]: [[Answer, Answer], [Answer, Answer]] = [
      [await bare(64, lengthMs), await engine(64, lengthMs)],
      [await bare(1, lengthMs), await engine(1, lengthMs)],
    ]
    // The first is to warm up.
    if (i > 0) many.push(each64)
    if (i > 0) single.push(each1)
  }
  await cluster.close()
  await machines.stop()
  await server.stop()
  return [idle, elsewhere, manyUnderWay(many), oneAtATime(single)]
}

async function emptyWorkspace(cluster: PostgresCluster, id: string): Promise<void> {
  await beginMoveIn(cluster, id, id)
  await finishMoveIn(cluster, id, 0)
}

/** Appends one after the other, which nothing has decided. */
async function bareAppends(cluster: PostgresCluster): Promise<(count: number, lengthMs: number) => Promise<Answer>> {
  await emptyWorkspace(cluster, 'w_bare')
  const journal = cluster.journal('w_bare')
  let known = journalStart
  return (count, lengthMs) =>
    timed(lengthMs, count, async () => {
      known = await appendTo(journal, known, count)
    })
}

async function appendTo(journal: ClusterJournal, known: JournalPosition, count: number): Promise<JournalPosition> {
  const drafts = Array.from({ length: count }, () => {
    const [id, at] = [ids('m'), Date.now()]
    const fact = { type: 'message.created', id, conversation: '@a0,a1', n: 1, from: 'a0', kind: 'free' } as const
    const outcome = { id, conversation: '@a0,a1', n: 1 }
    return {
      at,
      by: 'a0',
      cause: id,
      rule: 'message.send',
      facts: [fact],
      outcome: outcome as never,
      body: 'x'.repeat(bodyBytes),
      writes: ['c:@a0,a1'],
    }
  })
  const appended = await journal.append({ position: known, reads: ['c:@a0,a1'], drafts })
  const last = appended.kind === 'ok' ? appended.numbered.at(-1) : undefined
  if (!last) throw new Error(`an append was answered ${appended.kind}`)
  return last
}

/** Sends by the engine of a shared workspace, so many under way. */
async function sharedEngine(cluster: PostgresCluster): Promise<(count: number, lengthMs: number) => Promise<Answer>> {
  await emptyWorkspace(cluster, 'w_shared')
  const fail = (error: Error) => {
    throw error
  }
  const replica = new Replica(new Store(join(temporaryFolder(), 'replica.db')), new EntryHub(fail))
  const world = { machine: 'bench', isLive: () => false, liveSession: () => undefined }
  const parts = {
    workspace: 'shared',
    machine: 'bench',
    journal: cluster.journal('w_shared'),
    clock: systemClock,
    ids,
    world,
  }
  const engine = new SharedEngine({ ...parts, replica, onTrouble: fail })
  await engine.submit({
    rule: 'workspace.begin',
    by: 'agent-relay',
    cause: ids('c'),
    input: { id: 'w_shared', keyHash: 'k' },
  })
  for (const name of agents) {
    const credentials = { proven: false, isHolder: false, mayRetake: true, tokenHash: name }
    await engine.submit({
      rule: 'agent.register',
      by: name,
      cause: ids('c'),
      input: { name, strict: true, ...credentials },
    })
  }
  let sent = 0
  const send = async () => {
    const [by, to] = [agents[sent % 100] as string, agents[(sent * 7 + 1) % 100] as string]
    sent++
    const input = { to: to === by ? '#general' : to, body: 'x'.repeat(bodyBytes) }
    const reply = await engine.submit({ rule: 'message.send', by, cause: ids('c'), input })
    if ('refusal' in reply) throw new Error(reply.refusal.code)
  }
  return async (count, lengthMs) => {
    const loops = await Promise.all(Array.from({ length: count }, () => timed(lengthMs, 1, send)))
    return {
      perSecond: loops.reduce((sum, { perSecond }) => sum + perSecond, 0),
      p50Ms: median(loops.map((l) => l.p50Ms)),
    }
  }
}

async function timed(lengthMs: number, count: number, work: () => Promise<void>): Promise<Answer> {
  const took: number[] = []
  const from = performance.now()
  let now = from
  while (now - from < lengthMs) {
    await work()
    const after = performance.now()
    took.push(after - now)
    now = after
  }
  return { perSecond: (took.length * count * 1_000) / (now - from), p50Ms: quantile(took, 0.5) }
}

function manyUnderWay(rounds: [Answer, Answer][]): Measure {
  const ratio = median(rounds.map(([bare, shared]) => shared.perSecond / bare.perSecond))
  return {
    measure: 'sends into a shared workspace, 64 under way',
    value: `${Math.round(median(rounds.map(([, shared]) => shared.perSecond)))}/s`,
    floor: `${Math.round(median(rounds.map(([bare]) => bare.perSecond)))}/s`,
    ratio,
    limit: '>= 0.20',
    isMet: ratio >= 0.2,
    lagMs: 0,
    note: 'beside bare appends of 64 entries to the same PostgreSQL, in one process; the aim is 0.30',
  }
}

function oneAtATime(rounds: [Answer, Answer][]): Measure {
  const ratio = median(rounds.map(([bare, shared]) => shared.p50Ms / bare.p50Ms))
  return {
    measure: 'one send into a shared workspace, p50',
    value: ms(median(rounds.map(([, shared]) => shared.p50Ms))),
    floor: ms(median(rounds.map(([bare]) => bare.p50Ms))),
    ratio,
    limit: '<= 3.00',
    isMet: ratio <= 3,
    lagMs: 0,
    note: 'beside a bare append of one entry',
  }
}
