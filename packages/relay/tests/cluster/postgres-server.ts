// A test's own PostgreSQL in a temporary directory: installed when it is first needed, run without the rights of root, ended with the test.

import { appendFileSync, chmodSync, cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  admin,
  childProcessesOf,
  dataOf,
  endServer,
  killServer,
  runPostgresProgram,
  serverPid,
  setServer,
  startServer,
} from '@agent-relay/prove/harness/postgres'
import { makeServer, newest, oldest } from '../../../../scripts/temporary-postgres.mjs'
import { isFull } from '../../../../test/size.ts'
import { until } from '../../../../test/until.ts'
import { type Client, type ServerAddress, withClient } from '../../src/cluster/postgres/connection.ts'
import { joinCluster } from '../../src/cluster/postgres/joining.ts'
import { inviteMachine } from '../../src/cluster/postgres/machines.ts'
import { migrate } from '../../src/cluster/postgres/schema.ts'

/** The one that the suite installs, and in the full size also the oldest that will do, where it is there. */
export const versions: [string, string][] = [
  ['newest', newest()],
  ...(isFull && oldest ? [['15', oldest] as [string, string]] : []),
]

export class PostgresServer {
  readonly #programs: string
  readonly folder: string
  readonly #port: number
  /** What runs it, such as `nsenter` with its options. */
  readonly #through: string[]

  private constructor(programs: string, folder: string, { port = 5432, through = [] as string[] } = {}) {
    this.#programs = programs
    this.folder = folder
    this.#port = port
    this.#through = through
  }

  /** `port`: also over TCP, on loopback. `lets`: lines of pg_hba.conf behind its own. */
  static async start(
    programs = newest(),
    { port, ...more }: Record<string, string> & { port?: string } = {},
    { through = [] as string[], lets = '' } = {},
  ): Promise<PostgresServer> {
    const settings = port === undefined ? more : { ...more, port, listen_addresses: "'127.0.0.1'" }
    const folder = await makeServer(programs, settings)
    appendFileSync(join(dataOf(folder), 'pg_hba.conf'), lets)
    const server = new PostgresServer(programs, folder, { port: Number(port ?? 5432), through })
    await server.resume()
    return server
  }

  get address(): ServerAddress {
    return { host: this.folder, port: this.#port, database: 'postgres', ...admin }
  }

  get #data(): string {
    return dataOf(this.folder)
  }

  /** From the next look at its settings on, which is now. */
  async set(more: Record<string, string>): Promise<void> {
    setServer(this.folder, more)
    await this.#control('reload')
  }

  /** Starts it, also after a crash: its former processes may need a moment to end. */
  async resume(): Promise<void> {
    let failure: unknown
    const start = () => startServer(this.#programs, this.folder, this.#through)
    const isUp = () =>
      start().then(
        () => true,
        (error) => {
          failure = error
          return false
        },
      )
    await until(isUp).catch((late) => {
      throw new Error(
        `${late.message}; ${failure}; its log: ${readFileSync(join(this.folder, 'log'), 'utf8').slice(-1_000)}`,
      )
    })
  }

  /** As if somebody had pulled the plug: the server and all that it runs, at once. */
  kill(): void {
    killServer(this.folder)
  }

  /** A copy that follows this server, which waits for it where it is synchronous. */
  async standby(isSynchronous: boolean, through: string[] = []): Promise<PostgresServer> {
    const copy = new PostgresServer(this.#programs, mkdtempSync(join(tmpdir(), 'relay-pg-')), { through })
    await this.#control('-m', 'fast', 'stop')
    cpSync(this.#data, copy.#data, { recursive: true })
    // Newer versions of Node give a copied folder the usual rights, and the server starts only in one of its own.
    chmodSync(copy.#data, 0o700)
    const { user, password } = admin
    const from = `host=''${this.folder}'' user=${user} password=''${password}'' application_name=copy`
    setServer(this.folder, { synchronous_standby_names: isSynchronous ? "'copy'" : "''" })
    setServer(copy.folder, { unix_socket_directories: `'${copy.folder}'`, primary_conninfo: `'${from}'` })
    writeFileSync(join(copy.#data, 'standby.signal'), '')
    await this.resume()
    await copy.resume()
    const text = "SELECT FROM pg_stat_replication WHERE state = 'streaming'"
    const isFollowing = async () => (await withClient(this.address, (client) => client.query(text))).rowCount === 1
    await until(isFollowing).catch((late) => {
      copy.end()
      throw late
    })
    return copy
  }

  /** It receives nothing more from the server that it follows. */
  lag(): void {
    process.kill(this.#receiver, 'SIGSTOP')
  }

  /** It follows nobody any more, and takes what comes. */
  async promote(): Promise<void> {
    process.kill(this.#receiver, 'SIGKILL')
    // Losing a process restarts the others.
    await until(async () => {
      await this.#control('promote').catch(() => undefined)
      const asked = withClient(this.address, (client) => client.query('SELECT pg_is_in_recovery() AS is'))
      return (await asked.catch(() => undefined))?.rows[0].is === false
    })
  }

  get #receiver(): number {
    const pid = childProcessesOf(serverPid(this.folder)).find((each) =>
      readFileSync(`/proc/${each}/cmdline`, 'utf8').includes('walreceiver'),
    )
    if (pid === undefined) throw new Error('nothing is received')
    return pid
  }

  end(): void {
    endServer(this.#programs, this.folder)
  }

  /** A database of this name, with the schema of a cluster. */
  async cluster(database: string): Promise<PostgresWorld> {
    await withClient(this.address, (client) => client.query(`CREATE DATABASE ${database}`))
    const world = new PostgresWorld({ ...this.address, database })
    await world.asAdmin(migrate)
    return world
  }

  /** The same, made by somebody who may make roles and is no superuser. */
  async clusterOfBoss(database: string): Promise<PostgresWorld> {
    const boss = { user: 'boss', password: 'boss' }
    await withClient(this.address, async (client) => {
      await client.query(`CREATE ROLE boss LOGIN CREATEROLE PASSWORD '${boss.password}'`)
      await client.query(`CREATE DATABASE ${database} OWNER boss`)
    })
    const world = new PostgresWorld({ ...this.address, database, ...boss })
    await world.asAdmin(migrate)
    return world
  }

  #control(...order: string[]): Promise<void> {
    return runPostgresProgram(this.#programs, 'pg_ctl', ['-D', this.#data, '-w', ...order])
  }
}

/** A database with the schema of a cluster, and its machines. */
export class PostgresWorld {
  readonly address: ServerAddress

  constructor(address: ServerAddress) {
    this.address = address
  }

  /** The same database on another server. */
  at(server: PostgresServer): PostgresWorld {
    return new PostgresWorld({ ...this.address, host: server.folder })
  }

  asAdmin<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.address, work)
  }

  /** A machine that has joined, as it logs in. */
  async join(name: string): Promise<ServerAddress> {
    const invitation = await this.asAdmin((client) => inviteMachine(client, name))
    const { user, password } = await joinCluster({ ...this.address, ...invitation })
    return { ...this.address, user, ...(password === undefined ? {} : { password }) }
  }
}
