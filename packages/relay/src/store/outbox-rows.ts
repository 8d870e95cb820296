// The outbox of this machine, as rows: sends that wait until the shared workspace is reached. They tell of this file alone, and no entry tells of them.

import type { Database, Row, Statement } from './database.ts'

/** A send as it was asked, under the id of the call: however often it is tried, it is stored once. */
export interface QueuedSend {
  n: number
  /** As people name it. */
  id: string
  at: number
  by: string
  cause: string
  digest?: string
  /** As JSON. */
  input: string
}

const columns = 'n, id, at, by, cause, digest, input'
const statements = {
  put: `INSERT INTO outbox (id, at, by, cause, digest, input) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  of: `SELECT ${columns} FROM outbox WHERE cause = ? AND by = ?`,
  list: `SELECT ${columns} FROM outbox ORDER BY n LIMIT (? + 0)`,
  listOf: `SELECT ${columns} FROM outbox WHERE by = ? ORDER BY n LIMIT (? + 0)`,
  count: 'SELECT count(*) FROM outbox',
  drop: 'DELETE FROM outbox WHERE n = ?',
}

export class OutboxRows {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  get count(): number {
    return Number(this.#sql.count.get()?.[0])
  }

  /** Inside a transaction. Answers the row that the call has already, if it was asked before. */
  put({ id, at, by, cause, digest, input }: Omit<QueuedSend, 'n'>): QueuedSend {
    this.#sql.put.run(id, at, by, cause, digest ?? null, input)
    return this.of(by, cause) as QueuedSend
  }

  of(by: string, cause: string): QueuedSend | undefined {
    const row = this.#sql.of.get(cause, by)
    return row && queued(row)
  }

  /** Oldest first; `by`: of one sender. */
  list(limit: number, by?: string): QueuedSend[] {
    return (by === undefined ? this.#sql.list.all(limit) : this.#sql.listOf.all(by, limit)).map(queued)
  }

  /** Inside a transaction. */
  drop(n: number): void {
    this.#sql.drop.run(n)
  }

  /** Inside a transaction: what another copy of this workspace has. */
  takeFrom(other: OutboxRows): void {
    for (const row of other.list(other.count)) this.put(row)
  }
}

function queued(row: Row): QueuedSend {
  const [n, id, at, by, cause, digest, input] = row as [number, string, number, string, string, string | null, string]
  return { n, id, at, by, cause, input, ...(digest === null ? {} : { digest }) }
}
