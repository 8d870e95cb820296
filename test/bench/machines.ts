// Machines that share one workspace: real daemons, several in one process, each with a data directory of its own. What they cost the server while
// nobody says anything: three of them in every run, and up to fifty by hand.

import { controlSocketPath } from '@agent-relay/sdk/internal/discover'
import type { InputOf, OperationName } from '@agent-relay/sdk/protocol'
import { socketConnector } from '@agent-relay/sdk/wire'
import { ClusterFile } from 'agent-relay/dist/machine/cluster-file.js'
import { Child, temporaryFolder } from './child.ts'
import type { PostgresServer } from './postgres.ts'
import type { MachineQuestion } from './roles/machine.ts'
import type { Measure } from './table.ts'

export const workspace = 'team'
/** Until what they do at the start is through. */
const settledMs = 3_000
const idleMsMax = 15_000
/** Processor time of the server, in each 15 seconds. */
const idleSecondsMax = 0.5

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
