// Applies an agent's home machine's report of deliveries (the fact `deliveries.noted`) to the receipts. All machines end with the same receipts, in
// whichever order they take the reports in.

import type { DeliveriesNoted } from '@agent-relay/sdk/protocol'
import type { Database, Statement } from './database.ts'
import type { KnownAgent, TablesMirror } from './tables.ts'

const ofMessage = 'SELECT seq, ?1, ?2, ?3 FROM messages WHERE id = ?4'

const isLater = 'offered_at IS NULL OR offered_at <= excluded.offered_at'

const statements = {
  noted: "INSERT OR REPLACE INTO meta (name, value) VALUES ('noted', ?)",
  // A former and a later home machine may both have shown the message, and the former may report it last: the later time counts, as at home (evolve.ts).
  offered: `INSERT INTO receipts (message, agent, offered_at, route) ${ofMessage} ON CONFLICT DO UPDATE
    SET offered_at = excluded.offered_at, route = excluded.route WHERE ${isLater}`,
  /** Ends the hold of a session at the agent's former home machine. */
  freed:
    'UPDATE receipts SET session = NULL, until = NULL WHERE agent = ? AND message = (SELECT seq FROM messages WHERE id = ?)',
  // A former and a later home machine may both have shown the message: the first time of reading counts, in whichever order they report it.
  read: `INSERT INTO receipts (message, agent, read_at) SELECT seq, ?1, ?2 FROM messages WHERE id = ?3 ON CONFLICT DO UPDATE
    SET read_at = min(coalesce(read_at, excluded.read_at), excluded.read_at)`,
}

export class NotedReceipts {
  readonly #sql: Record<keyof typeof statements, Statement>
  readonly #tables: TablesMirror
  readonly #machine: string | undefined

  /** `machine`: the machine that has this copy of the workspace. */
  constructor(database: Database, tables: TablesMirror, machine: string | undefined) {
    this.#sql = database.prepareWhenUsed(statements)
    this.#tables = tables
    this.#machine = machine
  }

  /** Applies one report and returns the messages that were read. */
  apply({ agent, machine, epoch, through, receipts }: DeliveriesNoted, { key }: KnownAgent): string[] {
    if (machine === this.#machine) this.#sql.noted.run(String(through))
    const home = this.#tables.homes.get(agent)
    const isHere = home !== undefined && home.machine === this.#machine
    // This machine knows the times of its own deliveries better than its report tells them.
    const isOwn = isHere && machine === this.#machine && epoch === home.epoch
    const read: string[] = []
    for (const { message, offeredAt, route, readAt } of receipts) {
      if (offeredAt !== undefined && !isOwn) this.#sql.offered.run(key, offeredAt, route ?? null, message)
      if (offeredAt !== undefined && !isHere) this.#sql.freed.run(key, message)
      if (readAt === undefined) continue
      this.#sql.read.run(key, readAt, message)
      read.push(message)
    }
    return read
  }
}
