// Workers as rows: read for the rules and by what runs the programs. They are written by evolve.

import type { WorkerRow, WorkerView } from '../core/view.ts'
import type { Database, Row, Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const columns =
  'id, name, parent, cli, command, args, model, cwd, is_injected, wish, status, pid, code, reason, at, changed_at'

const statements = {
  byId: `SELECT ${columns} FROM workers WHERE id = ?`,
  // Ids are in the order of time.
  byName: `SELECT ${columns} FROM workers WHERE name = ? ORDER BY id DESC LIMIT 1`,
  running: `SELECT ${columns} FROM workers WHERE status <> 'exited' ORDER BY id`,
  latest: `SELECT ${columns} FROM workers ORDER BY id DESC LIMIT (? + 0)`,
  task: 'SELECT b.body FROM workers w JOIN bodies b ON b.seq = w.task WHERE w.id = ?',
  screen: 'SELECT b.body FROM workers w JOIN bodies b ON b.seq = w.screen WHERE w.id = ?',
}

export class WorkerRows implements WorkerView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): WorkerRow | undefined {
    const row = this.#sql.byId.get(id)
    return row && workerOf(row)
  }

  byName(name: string): WorkerRow | undefined {
    const row = this.#sql.byName.get(name)
    return row && workerOf(row)
  }

  running(): WorkerRow[] {
    return this.#sql.running.all().map(workerOf)
  }

  /** Newest first. */
  latest(limit: number): WorkerRow[] {
    return this.#sql.latest.all(limit).map(workerOf)
  }

  taskOf(id: string): string | undefined {
    return this.#sql.task.get(id)?.[0] as string | undefined
  }

  /** Of one that has exited: what stood there last. */
  lastScreenOf(id: string): string | undefined {
    return this.#sql.screen.get(id)?.[0] as string | undefined
  }
}

function workerOf(row: Row): WorkerRow {
  const [id, name, parent, cli, command, args, model, cwd, isInjected, wish, status, pid, code, reason, at, changedAt] =
    row
  const lists = withoutNulls({ command: listOf(command), args: listOf(args) })
  const rest = withoutNulls({ model, pid, code, reason })
  return {
    id,
    name,
    parent,
    cli,
    cwd,
    isInjected: isInjected === 1,
    wish,
    status,
    at,
    changedAt,
    ...lists,
    ...rest,
  } as WorkerRow
}

function listOf(json: unknown): string[] | null {
  return typeof json === 'string' ? (JSON.parse(json) as string[]) : null
}
