// Runs as rows: read for the rules' view and for answers. They are written by evolve.

import type { HarnessName, RunState } from '@agent-relay/sdk/protocol'
import type { RunRow, RunView } from '../core/view.ts'
import type { Database, Row, Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const columns = 'id, agent, parent, harness, status, started_at, ended_at, model, cwd, summary, reason, payload_bytes'

const statements = {
  byId: `SELECT ${columns} FROM runs WHERE id = ?`,
  byIds: `SELECT ${columns} FROM runs WHERE id IN (SELECT value FROM json_each(?))`,
  // An agent that carries out external runs has a name of its own; the others are named after their one run.
  byAgent: `SELECT ${columns} FROM runs WHERE agent = ? AND harness <> 'external' ORDER BY id DESC LIMIT 1`,
  running: `SELECT ${columns} FROM runs WHERE status = 'running' ORDER BY id`,
  // Newest first: ids are ordered by time.
  all: `SELECT ${columns} FROM runs WHERE ?1 IS NULL OR status = ?1 ORDER BY id DESC LIMIT (?2 + 0)`,
  ofAgent: `SELECT ${columns} FROM runs WHERE (agent = ?3 OR parent = ?3) AND (?1 IS NULL OR status = ?1)
    ORDER BY id DESC LIMIT (?2 + 0)`,
  contract: 'SELECT b.body FROM runs r JOIN bodies b ON b.seq = r.contract WHERE r.id = ?',
  payload: 'SELECT p.gzip FROM runs r JOIN payloads p ON p.seq = r.payload WHERE r.id = ?',
}

export class RunRows implements RunView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): RunRow | undefined {
    const row = this.#sql.byId.get(id)
    return row && runOf(row)
  }

  /** Many at once: a statement each would be most of the cost. */
  byIds(ids: readonly string[]): Map<string, RunRow> {
    return new Map(this.#sql.byIds.all(JSON.stringify(ids)).map((row) => [row[0] as string, runOf(row)]))
  }

  byAgent(agent: string): RunRow | undefined {
    const row = this.#sql.byAgent.get(agent)
    return row && runOf(row)
  }

  running(): RunRow[] {
    return this.#sql.running.all().map(runOf)
  }

  /** Newest first; those of one agent, as its own or as those it asked for, or all. */
  list(agent: string | undefined, status: RunState | undefined, limit: number): RunRow[] {
    const wanted = [status ?? null, limit] as const
    const rows = agent === undefined ? this.#sql.all.all(...wanted) : this.#sql.ofAgent.all(...wanted, agent)
    return rows.map(runOf)
  }

  contract(id: string): string {
    return this.#sql.contract.get(id)?.[0] as string
  }

  /** As gzip. */
  payload(id: string): Uint8Array | undefined {
    return this.#sql.payload.get(id)?.[0] as Uint8Array | undefined
  }
}

function runOf(row: Row): RunRow {
  const [id, agent, parent, harness, status, startedAt, endedAt, model, cwd, summary, reason, payloadBytes] = row
  return {
    id: id as string,
    agent: agent as string,
    parent: parent as string,
    harness: harness as HarnessName,
    status: status as RunState,
    startedAt: startedAt as number,
    ...withoutNulls({ endedAt, model, cwd, summary, reason, payloadBytes }),
  } as RunRow
}
