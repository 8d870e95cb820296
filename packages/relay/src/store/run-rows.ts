// Reads and writes the rows of runs: a run is a task given to an agent, which ends with a result. Rules and answers read them; facts write them.

import type { HarnessName, RunState } from '@agent-relay/sdk/protocol'
import { machineOf } from '../core/journal.ts'
import type { Steps } from '../core/steps.ts'
import type { RunRow, RunView } from '../core/view.ts'
import type { BodyKeeper, FactAppliers } from './appliers.ts'
import { type Database, pagesOf, type Row, readRow, type Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const columns =
  'id, agent, parent, harness, status, started_at, ended_at, model, cwd, summary, reason, payload_bytes, machine, worktree, again'
/** Index of the column `contract` (the number of the run's first entry) in statements that select it. */
const contractColumn = 15

const statements = {
  byId: `SELECT ${columns} FROM runs WHERE id = ?`,
  byIds: `SELECT ${columns} FROM runs WHERE id IN (SELECT value FROM json_each(?))`,
  // An agent that carries out external runs may have several, and is left out. Any other agent of a run was made for that one run.
  byAgent: `SELECT ${columns} FROM runs WHERE agent = ? AND harness <> 'external' ORDER BY contract DESC LIMIT 1`,
  running: `SELECT ${columns} FROM runs WHERE status = 'running' ORDER BY contract`,
  // The index `runs_running` contains only runs that are under way: there are few of them, but an agent may have many ended runs.
  busyWith: `SELECT ${columns} FROM runs INDEXED BY runs_running WHERE status = 'running' AND agent = ? ORDER BY contract DESC LIMIT 1`,
  // Newest first by the number of each run's first entry, not by id: ids follow the clock, which may step back.
  all: `SELECT ${columns}, contract FROM runs WHERE contract < ?1 ORDER BY contract DESC LIMIT (?2 + 0)`,
  ofAgent: `SELECT ${columns}, contract FROM runs WHERE agent = ?3 AND contract < ?1 ORDER BY contract DESC LIMIT (?2 + 0)`,
  ofParent: `SELECT ${columns}, contract FROM runs WHERE parent = ?3 AND agent <> ?3 AND contract < ?1
    ORDER BY contract DESC LIMIT (?2 + 0)`,
  contract: 'SELECT b.body FROM runs r JOIN bodies b ON b.seq = r.contract WHERE r.id = ?',
  contractHead: 'SELECT substr(b.body, 1, 400) FROM runs r JOIN bodies b ON b.seq = r.contract WHERE r.id = ?',
  payloadEntry: 'SELECT payload FROM runs WHERE id = ?',
  unfetched:
    'SELECT r.payload FROM runs r WHERE r.payload IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.seq = r.payload)',
  payload: 'SELECT p.gzip FROM runs r JOIN payloads p ON p.seq = r.payload WHERE r.id = ?',
}

/** Number of runs that are read in one step of a list. */
const runsPerStep = 128

interface Placed {
  contract: number
  run: RunRow
}
type Walk = Generator<Placed, void, void>

export class RunRows implements RunView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): RunRow | undefined {
    return readRow(this.#sql.byId.get(id), runOf)
  }

  /** Returns runs by their ids in one statement, since a statement for each run would be most of the cost. */
  byIds(ids: readonly string[]): Map<string, RunRow> {
    return new Map(this.#sql.byIds.all(JSON.stringify(ids)).map((row) => [row[0] as string, runOf(row)]))
  }

  byAgent(agent: string): RunRow | undefined {
    return readRow(this.#sql.byAgent.get(agent), runOf)
  }

  running(): RunRow[] {
    return this.#sql.running.all().map(runOf)
  }

  /**
   * Lists runs, newest first: all, or those that `agent` carries out or asked for. With a status, many rows may be read for few results, so the read pauses
   * between them.
   */
  *list(agent: string | undefined, status: RunState | undefined, limit: number): Steps<RunRow[]> {
    const walks =
      agent === undefined ? [this.#walk('all')] : [this.#walk('ofAgent', agent), this.#walk('ofParent', agent)]
    const found: RunRow[] = []
    for (const run of newestFirst(walks)) {
      yield
      if (status === undefined || run.status === status) found.push(run)
      if (found.length >= limit) break
    }
    return found
  }

  *#walk(which: 'all' | 'ofAgent' | 'ofParent', ...agent: string[]): Walk {
    const read = (last?: Row) =>
      this.#sql[which].all(last?.[contractColumn] ?? Number.MAX_SAFE_INTEGER, runsPerStep, ...agent)
    for (const rows of pagesOf(runsPerStep, read))
      for (const row of rows) yield { contract: row[contractColumn] as number, run: runOf(row) }
  }

  currentRunOf(agent: string): RunRow | undefined {
    return readRow(this.#sql.busyWith.get(agent), runOf)
  }

  contractHead(id: string): string {
    return this.#sql.contractHead.get(id)?.[0] as string
  }

  contract(id: string): string {
    return this.#sql.contract.get(id)?.[0] as string
  }

  /** Returns the number of the entry that has the run's payload. */
  payloadEntry(id: string): number | undefined {
    return (this.#sql.payloadEntry.get(id)?.[0] ?? undefined) as number | undefined
  }

  /** Returns the numbers of entries of other machines whose payloads this machine has not fetched. */
  unfetchedPayloads(): number[] {
    return this.#sql.unfetched.all().map(([seq]) => seq as number)
  }

  /** Returns the result that a run returned, compressed with gzip. */
  payload(id: string): Uint8Array | undefined {
    return this.#sql.payload.get(id)?.[0] as Uint8Array | undefined
  }
}

/** Merges iterators over runs, each newest first, into one. */
function* newestFirst(walks: Walk[]): Generator<RunRow, void, void> {
  const heads = walks.map((walk) => walk.next().value)
  for (;;) {
    let best = 0
    for (const [at, head] of heads.entries()) if ((head?.contract ?? -1) > (heads[best]?.contract ?? -1)) best = at
    const head = heads[best]
    if (!head) return
    yield head.run
    heads[best] = walks[best]?.next().value
  }
}

function runOf(row: Row): RunRow {
  const [id, agent, parent, harness, status, startedAt, endedAt, model, cwd, ...others] = row
  const [summary, reason, payloadBytes, machine, worktree, again] = others
  return {
    id: id as string,
    agent: agent as string,
    parent: parent as string,
    harness: harness as HarnessName,
    status: status as RunState,
    startedAt: startedAt as number,
    ...(worktree === null ? {} : { worktree: worktree === 1 }),
    ...withoutNulls({ endedAt, model, cwd, machine, summary, reason, payloadBytes, again }),
  } as RunRow
}

const writes = {
  runStarted: `INSERT INTO runs (id, agent, parent, harness, model, cwd, machine, worktree, again, status, started_at, contract)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)`,
  payload: 'INSERT INTO payloads (seq, gzip) VALUES (?, ?)',
  runCompleted: `UPDATE runs SET status = 'completed', ended_at = ?, summary = ?, payload_bytes = ?, payload = ? WHERE id = ?`,
  runStopped: `UPDATE runs SET status = 'stopped', ended_at = ?, reason = ? WHERE id = ?`,
}

export function runAppliers(database: Database, keep: BodyKeeper): FactAppliers<`run.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'run.started': (fact, entry) => {
      const { seq, at, body } = entry
      const { id, agent, parent, harness, model = null, cwd = null, worktree, again = null } = fact
      keep(seq, body)
      const place = [cwd, machineOf(fact, entry), worktree === undefined ? null : Number(worktree)]
      sql.runStarted.run(id, agent, parent, harness, model, ...place, again, at, seq)
    },
    'run.completed': ({ id, summary, payloadBytes = null }, { seq, at, payload }) => {
      if (payload !== undefined) sql.payload.run(seq, payload)
      sql.runCompleted.run(at, summary, payloadBytes, payloadBytes === null ? null : seq, id)
    },
    'run.stopped': ({ id, reason = null }, { at }) => sql.runStopped.run(at, reason, id),
  }
}
