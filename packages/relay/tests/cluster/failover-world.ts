// Machines that share workspaces on a PostgreSQL with a standby that lags: entries stored after `lose` are lost with `failOver`. No tests.

import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Actor } from '../../../../test/plays/play.ts'
import { until } from '../../../../test/until.ts'
import { withClient } from '../../src/cluster/postgres/connection.ts'
import type { Store } from '../../src/store/store.ts'
import { Machine } from './machine.ts'
import { PostgresServer } from './postgres-server.ts'

export class FailoverWorld {
  readonly #folder = mkdtempSync(join(tmpdir(), 'relay-failover-'))
  readonly #server: PostgresServer
  readonly #copy: PostgresServer
  readonly #actors: Actor[] = []
  readonly machines: Machine[] = []

  private constructor(server: PostgresServer, copy: PostgresServer) {
    this.#server = server
    this.#copy = copy
  }

  /** The first machine has made the workspaces; the others have opened them. */
  static async start(names: string[], workspaces: string[]): Promise<FailoverWorld> {
    const server = await PostgresServer.start()
    const world = new FailoverWorld(server, await server.standby(false))
    symlinkSync(server.folder, world.#host)
    const cluster = await server.cluster('relay')
    const own = { host: world.#host, onTrouble: () => {} }
    for (const name of names) world.machines.push(await Machine.start(name, cluster, own))
    const [first, ...others] = world.machines as [Machine, ...Machine[]]
    for (const workspace of workspaces) {
      await first.open(workspace)
      await first.control('workspace.share', { workspace })
      for (const other of others) await other.control('workspace.open', { workspace, mustExist: true })
    }
    return world
  }

  async close(): Promise<void> {
    for (const actor of this.#actors) await actor.leaves().catch(() => {})
    for (const machine of this.machines) await machine.close()
    this.#server.end()
    this.#copy.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Where the machines find the server: at first the one, later the other. */
  get #host(): string {
    return join(this.#folder, 'server')
  }

  async enter(machine: Machine, workspace: string, name: string, token?: string): Promise<Actor> {
    const actor = new Actor(machine.connector(workspace), { name, token })
    this.#actors.push(actor)
    await actor.client.connect()
    return actor
  }

  async storeOf(machine: Machine, workspace: string): Promise<Store> {
    return (await machine.open(workspace)).workspace.store
  }

  /** All machines have the same, and all of them have told what was read. */
  async settled(workspace: string): Promise<void> {
    for (const machine of this.machines) {
      const { engine } = (await machine.open(workspace)).workspace
      await (engine as unknown as { reportBeforeClose(): Promise<void> }).reportBeforeClose()
    }
    const lasts = () => Promise.all(this.machines.map((each) => this.storeOf(each, workspace)))
    await until(async () => new Set((await lasts()).map(({ journal }) => journal.lastSeq)).size === 1)
  }

  /** The standby has everything so far, and nothing of what comes. */
  async lose(): Promise<void> {
    const text = 'SELECT count(*)::int AS all FROM relay.journal'
    const count = ({ address }: PostgresServer) =>
      withClient({ ...address, database: 'relay' }, (client) => client.query(text)).then(
        ({ rows }) => rows[0].all,
        () => undefined,
      )
    await until(async () => (await count(this.#copy)) === (await count(this.#server)))
    this.#copy.lag()
  }

  /** Every machine has seen that the other server lacks something, if `workspace` is one of which something was lost. */
  async failOver(workspace: string): Promise<void> {
    this.#server.kill()
    await this.#copy.promote()
    rmSync(this.#host)
    symlinkSync(this.#copy.folder, this.#host)
    for (const machine of this.machines) {
      const { engine } = (await machine.open(workspace)).workspace
      let asked = 0
      await until(async () => {
        const cause = `now? ${machine.name} ${++asked}`
        const reply = await engine.submit({
          rule: 'channel.join',
          input: { channel: '#now' },
          by: 'agent-relay',
          cause,
        })
        return 'refusal' in reply && reply.refusal.code === 'cluster.diverged'
      })
    }
  }

  /** Until the work is done, nobody can store anything in the database, and everybody can read it. */
  async locked(work: () => Promise<void>): Promise<void> {
    await withClient({ ...this.#copy.address, database: 'relay' }, async (client) => {
      await client.query('BEGIN')
      await client.query('LOCK TABLE relay.journal IN EXCLUSIVE MODE')
      await work()
      await client.query('ROLLBACK')
    })
  }
}
