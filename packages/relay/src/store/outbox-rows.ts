// The rows of the outbox: messages that this machine queues while the shared workspace cannot be reached. Only this database file has them: no journal entry
// contains them.

import type { OutputOf } from '@agent-relay/sdk/protocol'
import { type Database, type Row, readRow, type Statement } from './database.ts'

type Kind = OutputOf<'outbox.drop'>['kind']

/** A queued send. It keeps the id of its call: even if the send is tried several times, its message is stored once. */
export interface QueuedSend {
  n: number
  /** The id of the queued send in commands and lists. */
  id: string
  at: number
  by: string
  cause: string
  digest?: string
  /** The input of the call `message.send`, as JSON. */
  input: string
}

/** A queued send as lists show it: with a preview, without the whole body. */
export interface QueuedSendPreview extends Pick<QueuedSend, 'id' | 'at' | 'by'> {
  to: string | string[]
  kind?: Kind
  preview: string
}

/** The number of queued sends, and the size of their inputs in bytes. */
interface QueuedCounts {
  messages: number
  bytes: number
}

const columns = 'n, id, at, by, cause, digest, input'
const heads = `SELECT id, at, by, input -> '$.to', input ->> '$.kind', substr(input ->> '$.body', 1, ?1) FROM outbox`
const waiting = 'SELECT count(*), coalesce(sum(octet_length(input)), 0) FROM outbox'
const statements = {
  put: `INSERT INTO outbox (id, at, by, cause, digest, input) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  of: `SELECT ${columns} FROM outbox WHERE cause = ? AND by = ?`,
  byId: `SELECT ${columns} FROM outbox WHERE id = ?`,
  after: `SELECT ${columns} FROM outbox WHERE n > ? ORDER BY n LIMIT 1`,
  list: `${heads} ORDER BY n`,
  listOf: `${heads} WHERE by = ?2 ORDER BY n`,
  waiting,
  waitingOf: `${waiting} WHERE by = ?`,
  before: 'SELECT count(*) FROM outbox WHERE n < ?',
  drop: 'DELETE FROM outbox WHERE n = ?',
}

export class OutboxRows {
  readonly #sql: Record<keyof typeof statements, Statement>

  constructor(database: Database) {
    this.#sql = database.prepareWhenUsed(statements)
  }

  /** Counts the queued sends of one sender, or of all. */
  countQueued(by?: string): QueuedCounts {
    const row = by === undefined ? this.#sql.waiting.get() : this.#sql.waitingOf.get(by)
    const [messages, bytes] = row as [number, number]
    return { messages, bytes }
  }

  /** Counts the sends that are queued before this one. */
  countBefore(n: number): number {
    return Number(this.#sql.before.get(n)?.[0])
  }

  /** Queues a message to be sent; call it inside a transaction. Returns the row of the same call if it was queued before. */
  put({ id, at, by, cause, digest, input }: Omit<QueuedSend, 'n'>): QueuedSend {
    this.#sql.put.run(id, at, by, cause, digest ?? null, input)
    return this.findByCall(by, cause) as QueuedSend
  }

  findByCall(by: string, cause: string): QueuedSend | undefined {
    return readRow(this.#sql.of.get(cause, by), queued)
  }

  byId(id: string): QueuedSend | undefined {
    return readRow(this.#sql.byId.get(id), queued)
  }

  /** Returns the oldest queued send, or the next one after `n`. */
  oldestAfter(n = 0): QueuedSend | undefined {
    return readRow(this.#sql.after.get(n), queued)
  }

  /** Lists queued sends, oldest first; with `by`, only those of that sender. */
  list(previewChars: number, by?: string): QueuedSendPreview[] {
    const { list, listOf } = this.#sql
    return (by === undefined ? list.all(previewChars) : listOf.all(previewChars, by)).map(head)
  }

  /** Deletes a queued send; call it inside a transaction. */
  drop(n: number): void {
    this.#sql.drop.run(n)
  }

  /** Adds the queued sends of another copy of this workspace; call it inside a transaction. */
  copyFrom(other: OutboxRows): void {
    for (let row = other.oldestAfter(); row; row = other.oldestAfter(row.n)) this.put(row)
  }
}

function queued(row: Row): QueuedSend {
  const [n, id, at, by, cause, digest, input] = row as [number, string, number, string, string, string | null, string]
  return { n, id, at, by, cause, input, ...(digest === null ? {} : { digest }) }
}

function head(row: Row): QueuedSendPreview {
  const [id, at, by, to, kind, preview] = row as [string, number, string, string, Kind | null, string]
  return { id, at, by, to: JSON.parse(to), preview, ...(kind === null ? {} : { kind }) }
}
