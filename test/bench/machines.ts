// Machines that share one workspace: real daemons, several in one process, each with a data directory of its own. Their cost for the server while
// nobody sends anything: three of them in every run, and up to fifty by hand.

import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import type { InputOf, OperationName } from '@agent-relay/sdk/protocol'
import { socketConnector } from '@agent-relay/sdk/wire'
import { PostgresCluster } from 'agent-relay/dist/cluster/postgres/postgres-cluster.js'
import { ClusterFile } from 'agent-relay/dist/machine/cluster-file.js'
import { Child, temporaryFolder } from './child.ts'
import { median } from './figures.ts'
import { PostgresServer } from './postgres.ts'
import type { MachineQuestion } from './roles/machine.ts'
import { ms } from './sends.ts'
import { against, type Measure } from './table.ts'

export const workspace = 'team'
/** Until what they do at the start is through. */
const settledMs = 3_000
const idleMsMax = 15_000
/** Processor time of the server, in each 15 seconds. */
const idleSecondsMax = 0.5
/** What each of many costs, beside each of few: the rest is noise. */
const growthMax = 1.3

export class Machines {
  readonly #server: PostgresServer
  readonly #perProcess: number
  readonly #processes: Child[] = []
  readonly #dataDirs: string[] = []

  constructor(server: PostgresServer, perProcess = 1) {
    this.#server = server
    this.#perProcess = perProcess
  }

  async add(count: number): Promise<void> {
    for (let i = 0; i < count; i++) await this.#addOne()
    await new Promise((resolve) => setTimeout(resolve, settledMs))
  }

  get count(): number {
    return this.#dataDirs.length
  }

  /** Of those that have a process each. */
  ask<A>(machine: number, question: MachineQuestion): Promise<A> {
    return (this.#processes[machine] as Child).ask(question)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((each) => each.stop()))
  }

  async #addOne(): Promise<void> {
    const [dataDir, i] = [temporaryFolder(), this.count]
    new ClusterFile(dataDir).write(await this.#server.join(`machine-${i}`))
    if (i % this.#perProcess === 0) this.#processes.push(new Child('machine'))
    const daemons = this.#processes.at(-1) as Child
    // The first has it before it is shared. The others have one of their own, as everybody has.
    await daemons.ask({ start: { dataDir, project: i === 0 ? workspace : 'own' } })
    if (i === 0) await control(dataDir, 'workspace.share', { workspace })
    await control(dataDir, 'workspace.open', { workspace, mustExist: true })
    this.#dataDirs.push(dataDir)
  }
}

async function control<O extends OperationName>(dataDir: string, op: O, input: InputOf<O>): Promise<void> {
  const link = await socketConnector(controlSocketPath(dataDir))({})
  try {
    await link.call(op as never, input as never, `c_${op}`)
  } finally {
    await link.close()
  }
}

/** What the server works for machines on which nobody says anything, in seconds of processor in each 15. */
async function idleSeconds(server: PostgresServer, lengthMs: number): Promise<number> {
  const [from, before] = [performance.now(), server.processor()]
  await new Promise((resolve) => setTimeout(resolve, lengthMs))
  return ((server.processor() - before) * idleMsMax) / (performance.now() - from)
}

export async function measureIdleMachines(server: PostgresServer, lengthMs: number): Promise<Measure> {
  const seconds = await idleSeconds(server, Math.min(lengthMs, idleMsMax))
  return {
    measure: 'the server in 15 s of three idle machines',
    value: `${seconds.toFixed(2)} s`,
    floor: `${idleSecondsMax.toFixed(2)} s`,
    ratio: seconds / idleSecondsMax,
    limit: `<= ${idleSecondsMax} s`,
    isMet: seconds <= idleSecondsMax,
    lagMs: 0,
    note: `processor time of PostgreSQL ${server.version}, with presence`,
  }
}

/** Of daemons that came before `present_2`, which asks for what is new: each of theirs hears of all machines. And before `jit` was off. */
const formsOfPresence = {
  present_2: '',
  present_1: '',
  'present_1, compiled': 'ALTER FUNCTION relay.present_1 SET jit = on',
}
const calls = 25

/**
 * By hand, since it takes minutes: fifty daemons, ten in one process, which is no lighter for the server than fifty processes. Each of them has
 * its own connections, login, replica and presence.
 */
export async function measureManyMachines(counts: number[], lengthMs: number): Promise<Measure[]> {
  const server = await PostgresServer.start('max_connections=300')
  const machines = new Machines(server, 10)
  const found: { count: number; seconds: number; connections: number }[] = []
  for (const count of counts) {
    await machines.add(count - machines.count)
    const seconds = await idleSeconds(server, lengthMs)
    found.push({ count, seconds, connections: await connectionsTo(server) })
  }
  const forms = await timePresence(server)
  await machines.stop()
  await server.stop()
  const [few] = found as [(typeof found)[0]]
  const rows = found.flatMap(({ count, seconds, connections }) => [
    against(`processor of the server in 15 s, ${count} idle machines, each`, {
      ...{ value: (seconds / count) * 1_000, floor: (few.seconds / few.count) * 1_000, unit: 'ms', max: growthMax },
      note: `all together ${seconds.toFixed(2)} s; the floor is that of each of ${few.count}`,
    }),
    against(`connections to the server, ${count} machines, each`, {
      ...{ value: connections / count, floor: few.connections / few.count, unit: '', max: growthMax },
    }),
  ])
  return [...rows, ...forms]
}

async function connectionsTo(server: PostgresServer): Promise<number> {
  const text = 'SELECT count(*)::int AS count FROM pg_stat_activity WHERE usename IN (SELECT role FROM relay.machines)'
  return server.asAdmin(async (client) => (await client.query(text)).rows[0].count)
}

/** What one beat costs with so many others, by a machine that has nothing new to say. */
async function timePresence(server: PostgresServer): Promise<Measure[]> {
  const cluster = new PostgresCluster(await server.join('bench'))
  const [{ id } = { id: '' }] = await cluster.workspaces()
  const rows: Measure[] = []
  for (const [form, before] of Object.entries(formsOfPresence)) {
    if (before) await server.asAdmin((client) => client.query(before))
    const took: number[] = []
    await cluster.asReader(async (client, boot) => {
      if (before) await client.query('SET jit = on')
      let stamp = 0
      for (let i = 0; i < calls; i++) {
        const from = performance.now()
        const text = `SELECT * FROM relay.${form.split(',')[0]}($1, $2, $3)`
        const { rows: told } = await client.query(text, [boot, stamp, JSON.stringify([{ workspace: id, agents: '' }])])
        took.push(performance.now() - from)
        stamp = Math.max(...told.map((row) => Number(row.stamp)))
      }
    })
    rows.push({ measure: `one beat, ${form}, p50`, value: ms(median(took)), lagMs: 0 })
  }
  await cluster.close()
  return rows
}
