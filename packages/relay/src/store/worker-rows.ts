// Reads and writes the rows of workers, the programs that the daemon runs for agents. Rules and the supervisor read them; facts write them.

import { machineOf } from '../core/journal.ts'
import type { WorkerRow, WorkerView } from '../core/view.ts'
import type { BodyKeeper, FactAppliers } from './appliers.ts'
import { type Database, type Row, readRow, type Statement } from './database.ts'
import { withoutNulls } from './tables.ts'

const columns =
  'id, name, parent, cli, command, args, model, cwd, is_injected, wish, status, pid, code, reason, at, changed_at, machine, worktree, wished_by, control, asked, again, conversation'

const statements = {
  byId: `SELECT ${columns} FROM workers WHERE id = ?`,
  byName: `SELECT ${columns} FROM workers WHERE name = ? ORDER BY task DESC LIMIT 1`,
  running: `SELECT ${columns} FROM workers WHERE status <> 'exited' ORDER BY task`,
  withWorktree: `SELECT ${columns} FROM workers WHERE worktree IS NOT NULL ORDER BY task`,
  latest: `SELECT ${columns} FROM workers ORDER BY task DESC LIMIT (? + 0)`,
  task: 'SELECT b.body FROM workers w JOIN bodies b ON b.seq = w.task WHERE w.id = ?',
  taskHead: 'SELECT substr(b.body, 1, 400) FROM workers w JOIN bodies b ON b.seq = w.task WHERE w.id = ?',
  screen: 'SELECT b.body FROM workers w JOIN bodies b ON b.seq = w.screen WHERE w.id = ?',
}

export class WorkerRows implements WorkerView {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareAll(statements)
  }

  byId(id: string): WorkerRow | undefined {
    return readRow(this.#sql.byId.get(id), workerOf)
  }

  byName(name: string): WorkerRow | undefined {
    return readRow(this.#sql.byName.get(name), workerOf)
  }

  running(): WorkerRow[] {
    return this.#sql.running.all().map(workerOf)
  }

  withWorktree(): WorkerRow[] {
    return this.#sql.withWorktree.all().map(workerOf)
  }

  /** Returns workers, newest first, running or not. */
  latest(limit: number): WorkerRow[] {
    return this.#sql.latest.all(limit).map(workerOf)
  }

  taskOf(id: string): string | undefined {
    return this.#sql.task.get(id)?.[0] as string | undefined
  }

  taskHead(id: string): string | undefined {
    return this.#sql.taskHead.get(id)?.[0] as string | undefined
  }

  /** Returns the last screen of a worker's terminal, if the worker has exited. */
  lastScreenOf(id: string): string | undefined {
    return this.#sql.screen.get(id)?.[0] as string | undefined
  }
}

function workerOf(row: Row): WorkerRow {
  const [id, name, parent, cli, command, args, model, cwd, isInjected, wish, status, pid, code, ...others] = row
  const [reason, at, changedAt, machine, worktree, wishedBy, control, asked, again, conversation] = others
  const own = { command: parsed(command), args: parsed(args), worktree: parsed(worktree), asked: parsed(asked) }
  const rest = withoutNulls({ model, pid, code, reason, machine, wishedBy, again, conversation, ...own })
  return {
    id,
    name,
    parent,
    cli,
    cwd,
    isInjected: isInjected === 1,
    control: control ?? 'pty',
    wish,
    status,
    at,
    changedAt,
    ...rest,
  } as WorkerRow
}

function parsed(json: unknown): unknown {
  return typeof json === 'string' ? JSON.parse(json) : null
}

const writes = {
  worker: `INSERT INTO workers (id, name, parent, cli, command, args, model, cwd, is_injected, machine, worktree, control, asked, again, conversation, wish, status, at, changed_at, task)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT conversation FROM workers WHERE id = ?), 'run', 'wished', ?, ?, ?)`,
  workerWish: 'UPDATE workers SET wish = ?, wished_by = ? WHERE id = ?',
  workerChanged:
    'UPDATE workers SET status = ?, pid = coalesce(?, pid), code = ?, reason = ?, control = coalesce(?, control), conversation = coalesce(?, conversation), changed_at = ?, screen = ? WHERE id = ?',
  worktreeRemoved: 'UPDATE workers SET worktree = NULL WHERE id = ?',
}

export function workerAppliers(database: Database, keep: BodyKeeper): FactAppliers<`worker.${string}`> {
  const sql = database.prepareWhenUsed(writes)
  return {
    'worker.wished': (fact, entry) => {
      const { seq, at, body } = entry
      const { id, worker, parent, cli, command, args, model = null, cwd, isInjected, worktree } = fact
      const { control = null, asked, again = null } = fact
      keep(seq, body)
      const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value))
      const place = [cwd, isInjected ? 1 : 0, machineOf(fact, entry), json(worktree)]
      // A worker that continues (`retry`) shares the conversation of the worker whose task it repeats.
      const how = [control, json(asked), again, asked?.continues === undefined ? null : again]
      sql.worker.run(id, worker, parent, cli, json(command), json(args), model, ...place, ...how, at, at, seq)
    },
    'worker.wish-changed': ({ id, wish }, { by }) => sql.workerWish.run(wish, by, id),
    // No column stores turns: only the worker's program knows them.
    'worker.interrupted': () => {},
    'worker.changed': (fact, { seq, at, body }) => {
      const { id, status, pid = null, code = null, reason = null, control = null, conversation = null } = fact
      keep(seq, body)
      sql.workerChanged.run(status, pid, code, reason, control, conversation, at, status === 'exited' ? seq : null, id)
    },
    'worker.worktree-removed': ({ id }) => sql.worktreeRemoved.run(id),
  }
}
