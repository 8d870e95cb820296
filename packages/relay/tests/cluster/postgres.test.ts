// A real PostgreSQL keeps the contract of the cluster.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { until } from '../../../../test/until.ts'
import {
  type ClusterJournal,
  ClusterUnreachable,
  type JournalPosition,
  journalStart,
  pageEntriesMax,
} from '../../src/cluster/cluster-journal.ts'
import type { ServerAddress } from '../../src/cluster/postgres/connection.ts'
import { sqlFunctionName } from '../../src/cluster/postgres/functions.ts'
import { revokeMachine } from '../../src/cluster/postgres/machines.ts'
import { plannedFunctions, plannedInnerFunctions } from '../../src/cluster/postgres/planned-functions.ts'
import { PostgresCluster } from '../../src/cluster/postgres/postgres-cluster.ts'
import { pruneKeys } from '../../src/cluster/postgres/pruning.ts'
import { migrate, migrations } from '../../src/cluster/postgres/schema.ts'
import { checks, type OpenCluster } from './cluster-suite.ts'
import { emptyWorkspace } from './empty-workspace.ts'
import { PostgresServer, type PostgresWorld, versions } from './postgres-server.ts'

/** Every check gets a workspace of its own; machines and their connections are shared, since making them takes longest. */
class Machines {
  readonly #world: PostgresWorld
  readonly #addresses = new Map<string, Promise<ServerAddress>>()
  readonly #daemons = new Map<string, PostgresCluster>()
  readonly #all: PostgresCluster[] = []
  #revoked = new Set<string>()
  #workspaces = 0

  constructor(world: PostgresWorld) {
    this.#world = world
  }

  async open(): Promise<OpenCluster> {
    for (const machine of this.#revoked) {
      this.#addresses.delete(machine)
      this.#daemons.delete(machine)
      const text = "UPDATE relay.machines SET name = 'former-' || id WHERE name = $1"
      await this.#world.asAdmin((client) => client.query(text, [machine]))
    }
    this.#revoked.clear()
    const id = `w_${++this.#workspaces}`
    const started = new Set<string>()
    return {
      start: async (machine) => {
        if (started.has(machine)) this.#daemons.delete(machine)
        started.add(machine)
        const daemon = await this.#daemon(machine)
        await emptyWorkspace(daemon, id)
        return this.#patient(machine, daemon.journal(id))
      },
      revoke: async (machine) => {
        await this.#world.asAdmin((client) => revokeMachine(client, machine))
        this.#revoked.add(machine)
      },
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((daemon) => daemon.close()))
  }

  async #daemon(machine: string): Promise<PostgresCluster> {
    const address = this.#addresses.get(machine) ?? this.#world.join(machine)
    this.#addresses.set(machine, address)
    const daemon = this.#daemons.get(machine) ?? new PostgresCluster(await address)
    if (!this.#all.includes(daemon)) this.#all.push(daemon)
    this.#daemons.set(machine, daemon)
    return daemon
  }

  /** The connections of a machine that was revoked are ended, so that it asks once more before it is told why. */
  #patient(machine: string, journal: ClusterJournal): ClusterJournal {
    const again = async <T>(ask: () => Promise<T>): Promise<T> => {
      try {
        return await ask()
      } catch (error) {
        if (!(error instanceof ClusterUnreachable) || !this.#revoked.has(machine)) throw error
        return ask()
      }
    }
    return {
      append: (append) => again(() => journal.append(append)),
      appendInTurn: (known, decide) => again(() => journal.appendInTurn(known, decide)),
      follow: (known, limit) => again(() => journal.follow(known, limit)),
      payload: (seq) => journal.payload(seq),
      onHint: (listener) => journal.onHint(listener),
    }
  }
}

describe.each(versions)('PostgreSQL %s', (_, programs) => {
  let server: PostgresServer
  let machines: Machines
  let world: PostgresWorld
  beforeAll(async () => {
    server = await PostgresServer.start(programs)
    world = await server.cluster('team')
    machines = new Machines(world)
  })
  afterAll(async () => {
    await machines?.close()
    server?.end()
  })

  test.each(Object.keys(checks))('%s', (name) =>
    expect(checks[name]?.(() => machines.open(), sized(5, 400))).resolves.toBeUndefined(),
  )

  test('keys that no append can meet any more are forgotten, and hints come through', async () => {
    const daemon = new PostgresCluster(await world.join('pruner'))
    await emptyWorkspace(daemon, 'w_prune')
    const journal = daemon.journal('w_prune')
    let known: JournalPosition = journalStart
    const store = async (key: string, count: number) => {
      const drafts = Array.from({ length: count }, (_, i) => {
        return { at: 1, by: 'ada', cause: `${key} ${i}`, rule: 'test', outcome: {}, facts: [], writes: [key] }
      })
      const appended = await journal.append({ position: known, reads: [], drafts })
      if (appended.kind === 'ok') known = appended.numbered.at(-1) as JournalPosition
    }
    for (const [key, count] of Object.entries({ old: 1, older: 1_000, some: 1_000, new: 1 })) await store(key, count)
    expect(known.seq).toBe(pageEntriesMax + 2)
    expect(await pruneKeys(daemon, 'w_prune')).toBe(1)
    expect(await pruneKeys(daemon, 'w_prune')).toBe(0)
    await daemon.asReader(async () => {})
    expect(journal.hasHints).toBe(true)
    await daemon.close()
  })

  test('an append looks up what it asks for, and does not walk through the journal', async () => {
    const address = await world.join('counter')
    /** Appends by a daemon of its own: a connection that ends has told the server what it read. */
    const appends = async (count: number, size: number) => {
      const daemon = new PostgresCluster(address)
      await emptyWorkspace(daemon, 'w_long')
      const journal = daemon.journal('w_long')
      const followed = await journal.follow(journalStart, pageEntriesMax)
      let known: JournalPosition = (followed.kind === 'entries' ? followed.entries.at(-1) : undefined) ?? journalStart
      for (let i = 0; i < count; i++) {
        const drafts = Array.from({ length: size }, (_, k) => {
          return {
            at: 1,
            by: 'ada',
            cause: `${known.seq} ${k}`,
            rule: 'test',
            outcome: {},
            facts: [],
            writes: ['a', `b${i}`],
          }
        })
        const appended = await journal.append({ position: known, reads: ['a'], drafts })
        known = (appended.kind === 'ok' ? appended.numbered.at(-1) : undefined) ?? known
      }
      await daemon.close()
      return known.seq
    }
    const read = async () => {
      const { rows } = await world.asAdmin((client) =>
        client.query(
          "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows, sum(n_tup_ins)::int AS stored FROM pg_stat_user_tables WHERE relname = 'journal'",
        ),
      )
      return rows[0] as { rows: number; stored: number }
    }
    const before = (await read()).stored
    expect(await appends(3, 500)).toBe(1_500)
    await until(async () => (await read()).stored >= before + 1_500)
    const { rows } = await read()
    expect(await appends(20, 5)).toBe(1_600)
    await until(async () => (await read()).stored >= before + 1_600)
    // The page of 1,500 that it followed, twice its own entries, and a few to compare with what it knows.
    expect((await read()).rows - rows).toBeLessThan(1_500 + 300)
  })

  test('a database that nobody has brought up to date will do, and is brought up to date under a daemon', async () => {
    const older = await server.cluster('older')
    const step = migrations.findIndex((statements) => plannedFunctions.every((sql) => statements.includes(sql)))
    await older.asAdmin(async (client) => {
      for (const sql of [...plannedFunctions, ...plannedInnerFunctions])
        await client.query(`DROP FUNCTION ${sqlFunctionName(sql)}`)
      await client.query('DELETE FROM relay.schema_info WHERE version > $1', [step])
    })
    const [before, after] = [
      new PostgresCluster(await older.join('before')),
      new PostgresCluster(await older.join('after')),
    ]
    await emptyWorkspace(before, 'w_older')
    let seen = 0
    const store = async (daemon: PostgresCluster) => {
      const journal = daemon.journal('w_older')
      const followed = await journal.follow(journalStart, pageEntriesMax)
      if (followed.kind !== 'entries') throw new Error(followed.kind)
      expect(followed.entries.length).toBe(seen)
      const known = followed.entries.at(-1) ?? journalStart
      const draft = { at: 1, by: 'ada', rule: 'test', outcome: {}, facts: [], writes: ['a'] }
      const ask = { reads: ['a'], drafts: [{ ...draft, cause: `c${++seen}` }] }
      const appended = await journal.append({ position: known, ...ask })
      const last = appended.kind === 'ok' ? (appended.numbered.at(-1) as JournalPosition) : known
      const turn = { position: last, reads: ['a'], drafts: [{ ...draft, cause: `c${++seen}` }] }
      return [appended.kind, (await journal.appendInTurn(last, () => turn)).kind]
    }
    expect(await store(before)).toEqual(['ok', 'ok'])
    await older.asAdmin(migrate)
    expect(await store(before)).toEqual(['ok', 'ok'])
    // Whoever connects from now on asks by the new ones.
    await older.asAdmin((client) => client.query('DROP FUNCTION relay.append_2, relay.follow_2, relay.turn_2'))
    expect(await store(after)).toEqual(['ok', 'ok'])
    await Promise.all([before.close(), after.close()])
  })
})
