// A PostgreSQL to measure, in processes of its own: Debian's, set as it comes, where it is installed.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Client, type ServerAddress, withClient } from 'agent-relay/dist/cluster/postgres/connection.js'
import { joinCluster } from 'agent-relay/dist/cluster/postgres/joining.js'
import { inviteMachine } from 'agent-relay/dist/cluster/postgres/machines.js'
import { migrate } from 'agent-relay/dist/cluster/postgres/schema.js'

const program = fileURLToPath(new URL('../../../scripts/temporary-postgres.mjs', import.meta.url))
/** Of the kernel, in which it tells processor time. */
const ticksPerSecond = 100

/** A machine's login. */
export interface Login extends ServerAddress {
  password: string
  machine: string
}

export class PostgresServer {
  readonly #process: ChildProcess
  readonly address: ServerAddress
  readonly #pid: number
  /** Of PostgreSQL. */
  version = ''

  private constructor(process: ChildProcess, address: ServerAddress) {
    this.#process = process
    this.address = address
    this.#pid = Number(readFileSync(join(address.host, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  }

  /** With the schema of a cluster. `settings`: others than those that it comes with. */
  static async start(...settings: string[]): Promise<PostgresServer> {
    const child = spawn(process.execPath, [program, ...settings], { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`PostgreSQL did not start (${code})`)
    })
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended])
    ended.catch(() => {})
    const server = new PostgresServer(child, JSON.parse(line))
    server.version = await server.asAdmin(async (client) => {
      await migrate(client)
      return (await client.query('SHOW server_version')).rows[0].server_version.split(' ')[0]
    })
    return server
  }

  asAdmin<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.address, work)
  }

  async join(machine: string): Promise<Login> {
    const invitation = await this.asAdmin((client) => inviteMachine(client, machine))
    const { user, password = '' } = await joinCluster({ ...this.address, ...invitation })
    return { ...this.address, user, password, machine }
  }

  /** Processor time of all its processes since it started, in seconds. The first of them has that of those that ended. */
  processor(): number {
    const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (timesOf(Number(name)) ?? []) : []))
    const ticks = all.map(({ pid, parent, own, ended }) =>
      pid === this.#pid ? own + ended : parent === this.#pid ? own : 0,
    )
    return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end()
    await once(this.#process, 'exit')
  }
}

function timesOf(pid: number): { pid: number; parent: number; own: number; ended: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program may hold anything. What comes after it: the state, the parent, and eleventh to fourteenth the times.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { pid, parent: fields[1] as number, own: user + system, ended: endedUser + endedSystem }
  } catch {
    return undefined
  }
}
